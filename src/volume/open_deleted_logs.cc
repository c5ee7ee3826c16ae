#include "volume/open_deleted_logs.h"

namespace zenfs {

// Does not wait for the lock of the file: the thread that has it may wait for the room that this makes.
Status OpenDeletedLogs::WithFile(FileId id, const std::function<Status()>& body) {
  const Catalog::Planner lock_file = [&](const CatalogView&, LockKeys& keys) -> Status {
    keys.exclusive.push_back(id);
    return {};
  };
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action, deps_.catalog.Begin(lock_file, Deadline::After({})));
  copying_since_ = FlushMark::Now(deps_.device);
  return body();
}

Status OpenDeletedLogs::Settle(const std::vector<Extent>& copies) {
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit({}, {.data_since = copying_since_}));  // only flushes
  deps_.zones.AddLive(copies);
  return deps_.zones.RemoveLive(copies) ? Status() : deps_.zones.health();
}

}  // namespace zenfs
