#include "volume/open_file_factory.h"

namespace zenfs {

std::shared_ptr<OpenFile> OpenFileFactory::Committed(const FileRecord& record) const {
  auto file = std::make_shared<OpenFile>();
  file->id = record.id;
  file->shape = record.shape;
  file->lifetime = record.lifetime;
  file->committed = true;
  if (record.shape == FileShape::kFramed) {
    file->framed = deps_.logs.Find(record.id);
    return file->framed == nullptr ? nullptr : file;
  }
  deps_.buffers.Forget(record.id);  // the last writer got the error for bytes that could not be written
  file->plain =
      std::make_unique<PlainFile>(PlainDeps(record.id), record.extents, record.size, record.lifetime);
  return file;
}

std::shared_ptr<OpenFile> OpenFileFactory::New(FileId id, FileShape shape, Lifetime lifetime) const {
  auto file = std::make_shared<OpenFile>();
  file->id = id;
  file->shape = shape;
  file->lifetime = lifetime;
  if (shape == FileShape::kFramed) {
    file->framed = std::make_shared<FramedFile>(FramedDeps(), id);
  } else {
    file->plain = std::make_unique<PlainFile>(PlainDeps(id), std::vector<Extent>(), 0, lifetime);
  }
  return file;
}

std::shared_ptr<FramedFile> OpenFileFactory::RecoveredLog(const FileRecord& record, ReplayedLog replayed,
                                                          FrameBuffers::TakenOver taken_over) const {
  return std::make_shared<FramedFile>(FramedDeps(), record, std::move(replayed), std::move(taken_over));
}

PlainFile::Deps OpenFileFactory::PlainDeps(FileId id) const {
  return {.device = &deps_.device,
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
  return {.device = &deps_.device,
          .zones = &deps_.zones,
          .log = &deps_.log,
          .drain = options_.wal == WalSending::kBlocking ? nullptr : &deps_.drain,
          .buffers = deps_.buffers.area(),
          .epoch = epoch_,
          .buffer_bytes = deps_.buffers.buffer_bytes()};
}

}  // namespace zenfs
