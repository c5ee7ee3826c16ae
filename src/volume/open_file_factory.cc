#include "volume/open_file_factory.h"

namespace zenfs {

std::shared_ptr<OpenFile> OpenFileFactory::Committed(const FileRecord& record) const {
  auto file = std::make_shared<OpenFile>();
  file->id = record.id;
  file->shape = record.shape;
  file->lifetime = record.lifetime;
  file->committed = true;
  if (record.shape == FileShape::kFramed) {
    file->framed = uses_.logs.Find(record.id);
    return file->framed == nullptr ? nullptr : file;
  }
  uses_.buffers.Forget(record.id);  // its last writer got the error for bytes that could not be written
  file->plain =
      std::make_unique<PlainFile>(PlainEnv(record.id), record.extents, record.size, record.lifetime);
  return file;
}

std::shared_ptr<OpenFile> OpenFileFactory::New(FileId id, FileShape shape, Lifetime lifetime) const {
  auto file = std::make_shared<OpenFile>();
  file->id = id;
  file->shape = shape;
  file->lifetime = lifetime;
  if (shape == FileShape::kFramed) {
    file->framed = std::make_shared<FramedFile>(FramedEnv(), id);
  } else {
    file->plain = std::make_unique<PlainFile>(PlainEnv(id), std::vector<Extent>(), 0, lifetime);
  }
  return file;
}

std::shared_ptr<FramedFile> OpenFileFactory::RecoveredLog(const FileRecord& record,
                                                          ReplayedLog replayed) const {
  return std::make_shared<FramedFile>(FramedEnv(), record, std::move(replayed));
}

PlainFile::Env OpenFileFactory::PlainEnv(FileId id) const {
  return {.device = &uses_.device,
          .zones = &uses_.zones,
          .sink = &uses_.sink,
          .buffer_bytes = options_.plain_buffer_bytes,
          .space_wait = options_.space_wait,
          .padding = &uses_.written.plain_padding,
          .staging = uses_.buffers.area(),
          .id = id};
}

FramedFile::Env OpenFileFactory::FramedEnv() const {
  return {.device = &uses_.device,
          .zones = &uses_.zones,
          .log = &uses_.log,
          .drain = &uses_.drain,
          .staging = uses_.buffers.area(),
          .epoch = epoch_};
}

}  // namespace zenfs
