// What a writer that died had flushed to shared memory and not to the device, told by one who only looks.
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

// The append buffers that `state`, replayed from `device`, speaks of.
[[nodiscard]] WhoseBuffers BuffersOf(const State& state, const Uuid& volume, const ZonedDevice& device);

struct WaitingBytes {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};
// Bytes of `left` that the device lacks. `size_of`: bytes that the device has of a file; nothing for one that is gone.
[[nodiscard]] WaitingBytes CountWaitingBytes(
    const OrphanedBuffers& left, const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

// One sentence for a person; empty when nothing waits, or nothing is known of it: while the writer lives, and where its
// shared memory is not to be seen. `size_of`: bytes that the device has of a file; nothing for one that is gone.
[[nodiscard]] std::string DescribeWaitingBytes(
    const State& state, const Uuid& volume, const ZonedDevice& device,
    const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

}  // namespace zenfs
