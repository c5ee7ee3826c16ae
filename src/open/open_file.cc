#include "open/open_file.h"

#include "open/open_framed_file.h"
#include "open/open_plain_file.h"

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

std::shared_ptr<OpenFile> OpenFileFactory::Committed(const FileRecord& record) const {
  if (record.shape == FileShape::kFramed) {
    std::shared_ptr<FramedFile> log = deps_.file.logs.Find(record.id);
    if (log == nullptr) return nullptr;
    return std::make_shared<OpenFramedFile>(&deps_.file, record.lifetime, true, std::move(log));
  }
  deps_.buffers.Forget(record.id);  // the last writer got the error for bytes that could not be written
  return std::make_shared<OpenPlainFile>(&deps_.file, record.id, record.lifetime, true, PlainDeps(record.id),
                                         record.extents, record.size);
}

std::shared_ptr<OpenFile> OpenFileFactory::New(FileId id, FileShape shape, Lifetime lifetime) const {
  if (shape == FileShape::kPlain) {
    return std::make_shared<OpenPlainFile>(&deps_.file, id, lifetime, false, PlainDeps(id));
  }
  return std::make_shared<OpenFramedFile>(&deps_.file, lifetime, false,
                                          std::make_shared<FramedFile>(FramedDeps(), id));
}

std::shared_ptr<FramedFile> OpenFileFactory::RecoveredLog(const FileRecord& record, ReplayedLog replayed,
                                                          FrameBuffers::TakenOver taken_over) const {
  return std::make_shared<FramedFile>(FramedDeps(), record, std::move(replayed), std::move(taken_over));
}

PlainFile::Deps OpenFileFactory::PlainDeps(FileId id) const {
  return {.device = &deps_.file.device,
          .reads = &deps_.reads,
          .zones = &deps_.zones,
          .sink = &deps_.sink,
          .buffer_bytes = options_.plain_buffer_bytes,
          .space_wait = options_.space_wait,
          .padding = &deps_.written.plain_padding,
          .buffers = deps_.buffers.area(),
          .id = id};
}

FramedFile::Deps OpenFileFactory::FramedDeps() const {
  return {.device = &deps_.file.device,
          .zones = &deps_.zones,
          .log = &deps_.log,
          .drain = options_.wal == WalSending::kBlocking ? nullptr : &deps_.file.drain,
          .buffers = deps_.buffers.area(),
          .epoch = epoch_,
          .buffer_bytes = deps_.buffers.buffer_bytes()};
}

}  // namespace zenfs
