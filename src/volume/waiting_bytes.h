// A read-only report of the bytes that a dead writer flushed to shared memory and that the device lacks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/uuid.h"
#include "buffers/orphaned_buffers.h"
#include "device/zoned_device.h"
#include "model/state.h"

namespace zenfs {

// The append buffers that `state` names; `state` was replayed from `device`.
[[nodiscard]] WhoseBuffers BuffersOf(const State& state, const Uuid& volume, const ZonedDevice& device);

struct WaitingBytes {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};
// Counts the bytes of `left` that the device lacks. `size_of` returns the file's size on the device; nothing if the file is
// gone.
[[nodiscard]] WaitingBytes CountWaitingBytes(
    const OrphanedBuffers& left, const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

// One sentence for users; empty if no bytes wait, if the writer still runs, or if its shared memory is not visible here.
// `size_of`: as above.
[[nodiscard]] std::string DescribeWaitingBytes(
    const State& state, const Uuid& volume, const ZonedDevice& device,
    const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

}  // namespace zenfs
