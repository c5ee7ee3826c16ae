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

}  // namespace zenfs
