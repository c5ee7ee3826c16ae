// A file that another user may have made and may change at any time. It is read with pread, in pieces: mapped memory would raise SIGBUS once
// the file is shortened. Nothing in it is executed.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

class ForeignFile {
 public:
  // Only a regular file is opened: opening a pipe or a device may have effects. Errors: kInvalidArgument for any other file, or an empty
  // one; those of the host.
  [[nodiscard]] static Result<ForeignFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // when it was opened
  // The same for two names of one file.
  std::pair<std::uint64_t, std::uint64_t> identity() const { return identity_; }

  // Returns the number of bytes that were read: fewer than asked for at the end of the file, or at a byte that cannot be read.
  std::size_t ReadAt(std::uint64_t offset, std::span<char> into) const;

  // Gets `text` and at most kContextBytes behind it. Returns true to end the search.
  using Visit = std::function<bool(std::string_view found)>;
  static constexpr std::size_t kContextBytes = 64;
  // Visits each place of `text`, which has no zero byte, in the bytes from `begin` to `end`. Returns true if a visit did. Holes are skipped.
  // Takes what it reads from `bytes_left`. Errors: kInvalidArgument if they are not enough.
  [[nodiscard]] Result<bool> Search(std::string_view text, std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t& bytes_left, const Visit& visit) const;

 private:
  ForeignFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::pair<std::uint64_t, std::uint64_t> identity_;
};

}  // namespace zenfs
