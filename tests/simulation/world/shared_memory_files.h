// The files of a volume's append buffers, which can be saved and restored: each crash is checked
// several times, and a mount consumes them.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// A sparse file: buffers that were never used have no bytes.
struct SparseFile {
  std::uint64_t size = 0;
  std::map<std::uint64_t, std::string> data;  // by offset, apart from each other; zeros elsewhere

  void Cut(std::uint64_t new_size);
  // `offset` < size.
  void Flip(std::uint64_t offset, char bits);
  friend bool operator==(const SparseFile&, const SparseFile&) = default;
};

class SharedMemoryFiles {
 public:
  using Contents = std::map<std::string, SparseFile>;  // by name

  // A new directory on the host's tmpfs, removed with its contents. Also removes directories of
  // killed simulators; those of live ones are locked.
  [[nodiscard]] static Result<SharedMemoryFiles> Create();
  ~SharedMemoryFiles();
  SharedMemoryFiles(SharedMemoryFiles&& other) noexcept;
  SharedMemoryFiles& operator=(SharedMemoryFiles&&) = delete;

  const std::string& directory() const { return directory_; }
  [[nodiscard]] Contents Read() const;
  // Replaces all files by `contents`.
  void Replace(const Contents& contents) const;

 private:
  SharedMemoryFiles(std::string directory, UniqueFd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string directory_;
  UniqueFd lock_;
};

}  // namespace zenfs
