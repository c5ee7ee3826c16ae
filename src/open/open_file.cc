#include "open/open_file.h"

namespace zenfs {

Status OpenFile::EnsureCommitted() {
  if (committed || unlinked) return {};
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps().catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           edits = view.Promote(id, keys);
                           return {};
                         }));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(deps().commits.Commit(std::move(edits)));
  NoteCommitted({});
  return {};
}

Status OpenFile::EndWriting() {
  const Status status = WriteBack();
  if (writers.fetch_sub(1) == 1) FreeBuffers();
  return status;
}

bool OpenFile::KeptForNextMount() const {
  if (!committed.load() && !unlinked.load()) return false;
  return ContentKeptForNextMount();
}

}  // namespace zenfs
