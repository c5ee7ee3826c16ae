#include "volume/mount/volume_shutdown.h"

namespace zenfs {

namespace {

// The results of writing many files.
class Outcome {
 public:
  // `kept`: the next mount finds the file's bytes in the append buffers.
  void Add(const Status& written, bool kept) {
    if (!written.ok() && written.error().code() == Code::kNoSpace && kept) {
      written_ = VolumeShutdown::Written::kKept;
    } else {
      first_.Update(written);
    }
  }
  // The first error.
  const Status& error() const { return first_; }
  Result<VolumeShutdown::Written> Get() const {
    if (!first_.ok()) return Fail(first_.error());
    return written_;
  }

 private:
  Status first_;
  VolumeShutdown::Written written_ = VolumeShutdown::Written::kAll;
};

}  // namespace

Status VolumeShutdown::WriteBackOpenFiles() {
  Outcome outcome;
  for (const std::shared_ptr<OpenFile>& file : deps_.files.All()) {
    const Status written = file->WriteBack();
    outcome.Add(written, file->KeptForNextMount());
    deps_.opener.Release(*file);
  }
  return outcome.error();
}

Result<VolumeShutdown::Written> VolumeShutdown::WriteBackFlushed() {
  Outcome outcome;
  for (const std::shared_ptr<OpenFile>& file : deps_.files.All()) {
    if (file->HasFlushedBytes()) {
      const Status written = file->WriteBack();
      outcome.Add(written, file->KeptForNextMount());
    }
    deps_.opener.Release(*file);
  }
  outcome.Add(deps_.buffers.CheckNothingGivenUp(deps_.device.name()), true);
  for (const std::shared_ptr<FramedFile>& file : deps_.logs.All()) {
    const Status written = file->WriteBack();
    outcome.Add(written, file->KeptForNextMount());
  }
  return outcome.Get();
}

Status VolumeShutdown::EndBuffers() {
  ZENFS_ASSIGN_OR_RETURN(const Written written, WriteBackFlushed());
  if (written == Written::kKept) return {};
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
