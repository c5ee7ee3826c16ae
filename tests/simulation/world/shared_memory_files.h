// The files that a volume's append buffers are in, as something that can be kept and put back: each crash is looked at
// more than once, and a mount uses them up.
//
// Threads: one.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

class SharedMemoryFiles {
 public:
  using Contents = std::map<std::string, std::string>;  // by name

  // A directory of its own on the host's tmpfs, removed with all that is in it. One that a killed simulator left is
  // removed here: a live one's is locked.
  [[nodiscard]] static Result<SharedMemoryFiles> Create();
  ~SharedMemoryFiles();
  SharedMemoryFiles(SharedMemoryFiles&& other) noexcept;
  SharedMemoryFiles& operator=(SharedMemoryFiles&&) = delete;

  const std::string& directory() const { return directory_; }
  [[nodiscard]] Contents Read() const;
  // Afterwards there is this and nothing else.
  void Replace(const Contents& contents) const;

 private:
  SharedMemoryFiles(std::string directory, UniqueFd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string directory_;
  UniqueFd lock_;
};

}  // namespace zenfs
