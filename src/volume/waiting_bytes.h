// The bytes that the last writer flushed to shared memory and that the device lacks, for readers that look at all files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "buffers/live_buffers.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"
#include "volume/fsck/finding.h"

namespace zenfs {

// The append buffers that `state` names; `state` was replayed from `device`.
[[nodiscard]] WhoseBuffers BuffersOf(const State& state, const Uuid& volume, const ZonedDevice& device);

struct WaitingBytes {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};
// Counts the bytes of `buffers` that the device lacks. `size_of` returns the file's size on the device; nothing if the file is
// gone.
[[nodiscard]] WaitingBytes CountWaitingBytes(
    const LiveBuffers& buffers, const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

// One sentence for users; empty if no bytes wait, or if the writer still runs. `size_of`: as above.
[[nodiscard]] std::string DescribeWaitingBytes(
    const LiveBuffers& buffers, const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

// Metadata with the extents that the last writer has flushed and not committed.
struct StateWithFlushed {
  State state;
  // Files with such extents, and their committed records.
  std::map<FileId, std::shared_ptr<const FileRecord>> extended;
  // Of files with extents that no writer flushes, or that the device has lost; they are left out.
  std::map<FileId, Finding> flaws;
};
[[nodiscard]] StateWithFlushed AddFlushedExtents(const State& committed, const LiveBuffers& buffers,
                                                 std::span<const ZoneId> metadata_zones, ZonedDevice& device);

// Errors: kCorruption if an extent is not in a zone of data.
[[nodiscard]] Status CheckFlushedExtents(const SetExtents& edit, const State& state,
                                         std::span<const ZoneId> metadata_zones, const Geometry& geometry);

}  // namespace zenfs
