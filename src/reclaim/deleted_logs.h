// The framed files that are deleted and still open, such as a log that a slow replica reads. Their frames keep log zones. No
// mount finds the files again, so copies of their bytes need no commit. The volume implements it.
//
// Threads: called by the thread that empties a zone.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "model/file_record.h"
#include "wal/framed_file.h"

namespace zenfs {

class DeletedLogs {
 public:
  virtual ~DeletedLogs() = default;

  // Also files that were deleted before they were ever committed.
  virtual std::vector<std::shared_ptr<FramedFile>> All() const = 0;
  // Runs `body` while no other action changes the file. Errors: those of `body`; kBusy if the file is in use.
  [[nodiscard]] virtual Status WithFile(FileId id, const std::function<Status()>& body) = 0;
  // `copies` were written within WithFile, and their zones are pinned. Flushes the device's cache, because a later flush that
  // fails could lose them under their readers. Then they count as dead, and only pins keep them.
  [[nodiscard]] virtual Status Settle(const std::vector<Extent>& copies) = 0;
};

}  // namespace zenfs
