// The room on a file system of the host.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace zenfs {

// What the file system of an open file or directory has room for, without the part that is reserved for root. Nothing if it
// does not say.
[[nodiscard]] std::optional<std::uint64_t> FreeBytes(int fd);

// While one exists, FreeBytes returns `bytes` at all places.
class FreeBytesForTests {
 public:
  explicit FreeBytesForTests(std::uint64_t bytes);
  ~FreeBytesForTests();
  FreeBytesForTests(const FreeBytesForTests&) = delete;
  FreeBytesForTests& operator=(const FreeBytesForTests&) = delete;
};

}  // namespace zenfs
