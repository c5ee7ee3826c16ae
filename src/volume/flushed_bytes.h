// Flushed bytes: what the last writer flushed to shared memory and the device lacks, for everybody who looks at a volume from its
// metadata on. Which buffers the metadata names, how many bytes wait there, extents that only they name, and what is lost if the
// device has lost the bytes before them.
//
// Threads: functions on values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// The device has the bytes of `file` up to `from` only, and flushed bytes begin at `to`. Those between have left the shared
// memory, so they had been written to the device. The `behind` bytes from `to` on can't be used without them.
[[nodiscard]] std::string LostBeforeFlushedText(std::string_view file, std::uint64_t from, std::uint64_t to,
                                                std::uint64_t behind);

// Errors: kCorruption if an extent is not in a zone of data.
[[nodiscard]] Status CheckFlushedExtents(const SetExtents& edit, const State& state,
                                         std::span<const ZoneId> metadata_zones, const Geometry& geometry);

}  // namespace zenfs
