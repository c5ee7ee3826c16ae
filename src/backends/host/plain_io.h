// Reads and writes by system calls that every kernel and container allows: preadv2(2), pwritev2(2).
// Interrupted and short calls continue where they stopped.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <span>

#include "backends/host/io_outcome.h"
#include "base/bytes.h"

namespace zenfs {

[[nodiscard]] IoOutcome ReadPlainly(int fd, std::uint64_t offset, ByteSpan into);
// Writes the pieces contiguously, at most `longest` bytes per call. Each call is sent after the
// previous one has completed.
[[nodiscard]] IoOutcome WritePlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces,
                                     std::uint64_t longest = kLongestCall);

// True if the bytes at `offset` equal the concatenated pieces. False also if they can't be read.
[[nodiscard]] bool HoldsPlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces);

// Total length of the pieces in bytes.
[[nodiscard]] std::uint64_t TotalBytes(std::span<const ByteView> pieces);

}  // namespace zenfs
