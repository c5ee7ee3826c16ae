// Holes of files on the host.
#pragma once

#include <cstdint>

namespace zenfs {

// How many of the `length` bytes at `offset` of the open file are in a hole, and so zeros; 0 if the host can't tell, or if the file
// ends before them.
[[nodiscard]] std::uint64_t KnownHole(int fd, std::uint64_t offset, std::uint64_t length);

}  // namespace zenfs
