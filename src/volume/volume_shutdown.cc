#include "volume/volume_shutdown.h"

namespace zenfs {

Status VolumeShutdown::WriteBackOpenFiles() {
  Status first;
  for (const std::shared_ptr<OpenFile>& file : deps_.files.All()) {
    first.Update(deps_.sync.WriteBack(*file));
    deps_.opener.Release(*file);
  }
  return first;
}

Status VolumeShutdown::WriteBackFlushed() {
  Status first;
  for (const std::shared_ptr<OpenFile>& file : deps_.files.All()) {
    const bool waits = file->plain && file->plain->HasFlushedBytes();
    first.Update(waits ? deps_.sync.SyncPlain(*file) : Status());
    deps_.opener.Release(*file);
  }
  if (first.ok()) first = deps_.buffers.CheckNothingGivenUp(deps_.device.name());
  for (const std::shared_ptr<FramedFile>& file : deps_.logs.All()) {
    first.Update(file->WriteBack());
  }
  return first;
}

Status VolumeShutdown::EndBuffers() {
  ZENFS_RETURN_IF_ERROR(WriteBackFlushed());
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit({SetBufferPlace{""}}));
  return deps_.buffers.Remove();
}

Status VolumeShutdown::SealLogs(bool forget_buffers) {
  const FlushMark mark = FlushMark::Now(deps_.device);
  std::vector<Edit> edits;
  for (const std::shared_ptr<FramedFile>& file : deps_.logs.All()) {
    std::optional<SealLog> seal = file->SealOfOpenWindow();
    if (!seal || deps_.catalog.FindFile(file->id()) == nullptr) continue;
    edits.push_back(*std::move(seal));
  }
  const bool seals = !edits.empty();
  if (forget_buffers) edits.push_back(SetBufferPlace{""});
  if (edits.empty()) return {};
  // The frames must be on stable media before the seal that covers them.
  ZENFS_RETURN_IF_ERROR(
      deps_.commits.Commit(std::move(edits), {.data_since = seals ? std::optional(mark) : std::nullopt}));
  return forget_buffers ? deps_.buffers.Remove() : Status();
}

}  // namespace zenfs
