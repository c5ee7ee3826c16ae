// Cleans the log zones of a group: copies their live frames into extents, so that the zones can be released. Example: frames of a
// MANIFEST beside dead frames of deleted WALs. The oldest frames of a file are copied first, so the remaining frames
// are always its tail.
//
// Design rule 5: a file points to a copy only after it was written, read back, compared, flushed and committed; after any
// error the file keeps its frames. Each frame is verified as a whole, and so is the last extent if its last block is copied
// again: damaged bytes are not copied, because a copy with a new checksum would hide the damage. Copies are committed in
// pieces, so an error wastes at most one piece. Of a deleted file that is still open, nothing is committed
// (reclaim/deleted_logs.h).
#pragma once

#include <span>

#include "base/status.h"
#include "reclaim/committed_files.h"
#include "reclaim/deleted_logs.h"
#include "reclaim/extent_mover.h"
#include "wal/framed_file.h"
#include "wal/log_store.h"
#include "zone/extent_sink.h"

namespace zenfs {

struct LogCleanDeps {
  ZonedDevice& device;
  LogStore& logs;
  DeletedLogs& deleted;
  ExtentSink& sink;
  CommittedFiles& files;
  ExtentMover::Pause pause{};  // called after each piece
};

// `zones`: ascending. Returns OK if no file has frames in them any more. Adds the moved bytes to `*bytes_moved`. Errors: those of
// reads, writes and commits; kCorruption if a checksum was wrong or a copy read back differently; kBusy if a file was in use,
// deleted or truncated meanwhile. After kCorruption and kBusy all other files were cleaned.
[[nodiscard]] Status CleanLogGroup(const LogCleanDeps& deps, std::span<const ZoneId> zones,
                                   std::uint64_t* bytes_moved);

// Bytes of metadata, about, that CleanLogGroup writes for this file.
[[nodiscard]] std::uint64_t RestatedBytes(const FramedFile& file, std::span<const ZoneId> zones);

}  // namespace zenfs
