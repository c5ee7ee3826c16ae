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

// The committed framed files, as cleaning changes them.
class CleanableFiles {
 public:
  virtual ~CleanableFiles() = default;

  // Runs `body` on the file as it is committed, while no other action changes it. Errors: those of `body`; kBusy if the
  // file is in use, or gone.
  [[nodiscard]] virtual Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) = 0;
  // Commits after a flush of the device's cache.
  [[nodiscard]] virtual Status CommitCleaned(std::vector<Edit> edits) = 0;
  // kNoSpace if a commit of so many more extents would be refused; asked before anything is copied.
  [[nodiscard]] virtual Status CheckRoomForExtents(std::size_t extents) const = 0;
};

struct LogCleanDeps {
  LogStore& logs;
  ExtentSink& sink;
  std::uint32_t block_size = 4096;
  CleanableFiles& files;
};

// Returns OK when no committed file has frames in `zone` any more. Errors: those of reading, writing,
// committing; kBusy when a file changed meanwhile.
[[nodiscard]] Status CleanLogZone(const LogCleanDeps& deps, ZoneId zone, std::uint64_t* bytes_moved);

}  // namespace zenfs
