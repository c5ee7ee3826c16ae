#include "volume/waiting_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/boot_id.h"
#include "base/counted.h"
#include "buffers/buffer_area_place.h"
#include "buffers/orphaned_buffers.h"

namespace zenfs {

WhoseBuffers BuffersOf(const State& state, const Uuid& volume, const ZonedDevice& device) {
  const SetBufferPlace& buffers = state.buffers();
  WhoseBuffers whose{.place = buffers.place,
                     .identity = device.identity(),
                     .volume = volume,
                     .epoch = state.epoch(),
                     .boot = BootId(),
                     .key = buffers.key};
  if (const auto owner = device.owner()) whose.owners.push_back(*owner);
  if (!buffers.key.empty()) whose.owners.push_back(buffers.maker);
  return whose;
}

WaitingBytes CountWaitingBytes(const OrphanedBuffers& left,
                               const std::function<std::optional<std::uint64_t>(FileId)>& size_of) {
  std::uint64_t bytes = 0;
  std::set<FileId> files;
  for (const OrphanedBytes& piece : left.pieces) {
    const std::optional<std::uint64_t> have = size_of(piece.owner);
    if (!have || piece.end() <= *have) continue;
    bytes += piece.end() - (piece.uncommitted ? *have : std::max(*have, piece.file_offset));
    files.insert(piece.owner);
  }
  return {.bytes = bytes, .files = files.size()};
}

std::string DescribeWaitingBytes(const State& state, const Uuid& volume, const ZonedDevice& device,
                                 const std::function<std::optional<std::uint64_t>(FileId)>& size_of) {
  const OrphanedBuffers left = LookAtOrphanedBuffers(BuffersOf(state, volume, device));
  if (!left.notice.empty()) return left.notice;
  const WaitingBytes waiting = CountWaitingBytes(left, size_of);
  if (waiting.bytes == 0) return "";
  return fmt::format(
      "the last writer died: {} of {} that were flushed and not synced wait in {}; the next "
      "read-write mount on this host writes them to the device",
      Counted(waiting.bytes, "byte"), Counted(waiting.files, "file"), left.memory.path());
}

}  // namespace zenfs
