// Reads and writes by the system calls that every kernel and every container allows: preadv2(2), pwritev2(2).
// Interrupted and short ones go on where they stopped.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <span>

#include "backends/host/io_outcome.h"
#include "base/bytes.h"

namespace zenfs {

[[nodiscard]] IoOutcome ReadPlainly(int fd, std::uint64_t offset, ByteSpan into);
// The pieces one behind the other, at most `longest` bytes a call, each call sent when the one before is done.
[[nodiscard]] IoOutcome WritePlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces,
                                     std::uint64_t longest = kLongestCall);

// Whether the bytes at `offset` are those of the pieces, one behind the other; false also if they can't be read.
[[nodiscard]] bool HoldsPlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces);

// Bytes in all of the pieces.
[[nodiscard]] std::uint64_t TotalBytes(std::span<const ByteView> pieces);

}  // namespace zenfs
