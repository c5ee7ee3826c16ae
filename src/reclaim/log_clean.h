// Cleans a log zone: copies its live frames into extents, so that the zone can be released. Example: frames of a
// MANIFEST beside dead frames of deleted WALs. The oldest frames of a file are copied first, so the remaining frames
// are always its tail.
//
// Design rule 5: a file points to a copy only after it was written, flushed and committed; after any error the file
// keeps its frames. Copies are committed in pieces, so an error wastes at most one piece.
#pragma once

#include <functional>

#include "base/status.h"
#include "wal/framed_file.h"
#include "wal/log_store.h"
#include "zone/extent_sink.h"

namespace zenfs {

// The access of cleaning to the committed framed files. The volume implements it.
class CleanableFiles {
 public:
  virtual ~CleanableFiles() = default;

  // Runs `body` with the committed record of the file, while no other action changes the file. Errors: those of `body`;
  // kBusy if the file is in use or deleted.
  [[nodiscard]] virtual Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) = 0;
  // Flushes the device's cache, then commits.
  [[nodiscard]] virtual Status CommitCleaned(std::vector<Edit> edits) = 0;
  // Returns kNoSpace if a commit of this number of further extents would be refused. Called before copying.
  [[nodiscard]] virtual Status CheckRoomForExtents(std::size_t extents) const = 0;
};

struct LogCleanDeps {
  LogStore& logs;
  ExtentSink& sink;
  std::uint32_t block_size = 4096;
  CleanableFiles& files;
};

// Returns OK if no file has frames in `zone` any more. Adds the committed bytes to `*bytes_moved`. Errors: those of
// reads, writes and commits; kBusy if a file was in use, deleted or truncated meanwhile; all other files were cleaned.
[[nodiscard]] Status CleanLogZone(const LogCleanDeps& deps, ZoneId zone, std::uint64_t* bytes_moved);

}  // namespace zenfs
