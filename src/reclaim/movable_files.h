// The access of the mover to the files of a volume.
//
// Threads: called by the thread that empties a zone.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "wal/framed_file.h"

namespace zenfs {

class MovableFiles {
 public:
  virtual ~MovableFiles() = default;

  // Returns the committed files with extents in the zone.
  virtual std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId zone) const = 0;
  // Runs `body` with the committed record of the file, while no other action changes the file. Must not wait for
  // threads that may wait for space. Errors: those of `body`; kBusy if the file is in use or deleted.
  [[nodiscard]] virtual Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) = 0;
  // Returns kNoSpace if a commit of this number of further extents would be refused. Called before copying.
  [[nodiscard]] virtual Status CheckRoomForExtents(std::size_t extents) const = 0;
  // Flushes the device's cache, then commits.
  [[nodiscard]] virtual Status CommitMoved(std::vector<Edit> edits) = 0;
  // Gives the file's new extents to its open handles. Called within WithFile, while the old and the new zones are
  // pinned. Returns false if a writer keeps the old extents and may commit them again.
  virtual bool NoteMoved(const FileRecord& before, const std::vector<Extent>& extents) = 0;

  // The framed files that are deleted and still open, such as a log that a slow replica reads, also those that were deleted before they were
  // ever committed. Their frames keep log zones. No mount finds the files again, so copies of their bytes need no commit.
  virtual std::vector<std::shared_ptr<FramedFile>> DeletedLogs() const = 0;
  // Runs `body` while no other action changes the file. Errors: those of `body`; kBusy if the file is in use.
  [[nodiscard]] virtual Status WithDeletedLog(FileId id, const std::function<Status()>& body) = 0;
  // `copies` were written within WithDeletedLog, and their zones are pinned. Flushes the device's cache, because a later flush that
  // fails could lose them under their readers. Then they count as dead, and only pins keep them.
  [[nodiscard]] virtual Status SettleDeleted(const std::vector<Extent>& copies) = 0;
};

}  // namespace zenfs
