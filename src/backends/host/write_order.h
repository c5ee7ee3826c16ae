// How writes are sent so that the kernel keeps those of a zone in order, also the pieces into which it cuts a long one.
// Linux 6.10 and later do by themselves; before, under mq-deadline, and under no other scheduler. Where mq-deadline is
// not to be had (device mapper, multipath), writes are sent so short that they are not cut.
//
// `release` is KernelRelease().
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

#include "backends/host/block_facts.h"
#include "base/status.h"

namespace zenfs {

// kInvalidArgument, with the command that helps, if the device's scheduler may reorder. `name` is the device, for the
// text.
[[nodiscard]] Status CheckWriteOrder(const std::string& name, const BlockFacts& facts,
                                     const std::string& release);

// Longest write to send as one, bytes, a multiple of the write granularity.
[[nodiscard]] std::uint64_t LongestWrite(const BlockFacts& facts, const std::string& release);

}  // namespace zenfs
