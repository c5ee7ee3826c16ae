// Empties a log zone that is mostly dead: the frames that are still live in it (a MANIFEST's beside those of
// WALs long gone) are copied into extents, so that the zone can be released. The oldest part of a file goes
// first, so what remains in frames is always its tail.
//
// Rule 5 holds: a file points to the copy only after it has been written, flushed and committed; on any error
// the frames stay what they are. Copies are committed a piece at a time, so an error wastes no more than a piece.
#pragma once

#include <functional>

#include "base/status.h"
#include "wal/framed_file.h"
#include "wal/log_store.h"
#include "zone/extent_sink.h"

namespace zenfs {

struct LogFoldEnv {
  LogStore* logs = nullptr;
  ExtentSink* sink = nullptr;
  std::uint32_t block_size = 4096;
  // Runs `body` on the file as it is committed, while no other action changes it; fails if the file is gone.
  std::function<Status(FileId, const std::function<Status(const FileRecord&)>& body)> with_file;
  // Commits after a flush of the device's cache.
  std::function<Status(std::vector<Edit>)> commit;
  // kNoSpace if a commit of so many more extents would be refused; asked before anything is copied.
  std::function<Status(std::size_t)> may_commit;
};

// Returns OK when no committed file has frames in `zone` any more. Errors: those of reading, writing,
// committing; kBusy when a file changed meanwhile.
[[nodiscard]] Status FoldLogZone(const LogFoldEnv& env, ZoneId zone, std::uint64_t* bytes_moved);

}  // namespace zenfs
