#include "volume/waiting_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/counted.h"
#include "staging/left_behind.h"
#include "staging/staging_place.h"

namespace zenfs {

std::string DescribeWaitingBytes(const State& state, const Uuid& volume, const std::string& identity,
                                 const std::function<std::optional<std::uint64_t>(FileId)>& size_of) {
  const LeftBehind left = LookAtLeftBehind({.place = state.buffer_place(),
                                            .identity = identity,
                                            .volume = volume,
                                            .epoch = state.epoch(),
                                            .boot = BootId()});
  if (!left.notice.empty()) return left.notice;
  std::uint64_t bytes = 0;
  std::set<FileId> files;
  for (const LeftBytes& piece : left.pieces) {
    const std::optional<std::uint64_t> have = size_of(piece.owner);
    if (!have || piece.end() <= *have) continue;
    bytes += piece.end() - (piece.uncommitted ? *have : std::max(*have, piece.file_offset));
    files.insert(piece.owner);
  }
  if (bytes == 0) return "";
  return fmt::format(
      "the last writer died: {} of {} that were flushed and not synced wait in {}; the next "
      "read-write mount on this host brings them to the device",
      Counted(bytes, "byte"), Counted(files.size(), "file"), left.memory.path());
}

}  // namespace zenfs
