#include "volume/volume_handle.h"

#include <fmt/format.h>

namespace zenfs {

VolumeHandle::~VolumeHandle() {
  IgnoreError(Close());  // the error is sticky in the file: other handles still see it
  const Result<Gate::Entry> entry = core_->Enter(false);
  if (!entry) return;  // unmounted: there is nothing left to release it from
  core_->Release(*file_);
}

Result<Gate::Entry> VolumeHandle::EnterWriting() const {
  if (!writable_)
    return Fail(Code::kReadOnly, fmt::format("file {}: opened for reading only", file_->id.value));
  if (closed_)
    return Fail(Code::kInvalidArgument, fmt::format("file {}: written after Close", file_->id.value));
  return core_->Enter(true);
}

Result<std::size_t> VolumeHandle::Read(std::uint64_t offset, ByteSpan into) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, core_->Enter(false));
  return file_->plain ? file_->plain->Read(offset, into) : file_->framed->Read(offset, into);
}

void VolumeHandle::ReadMany(std::span<ReadRequest> requests) const {
  const Result<Gate::Entry> entry = core_->Enter(false);
  if (entry && file_->plain) return file_->plain->ReadMany(requests);
  for (ReadRequest& request : requests) {
    if (!entry) {
      request.status = Fail(entry.error());
      continue;
    }
    const Result<std::size_t> read = file_->framed->Read(request.offset, request.into);
    request.status = read ? Status() : Fail(read.error());
    request.into = request.into.first(read ? *read : 0);
  }
}

Status VolumeHandle::Append(ByteView bytes) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  return file_->plain ? file_->plain->Append(bytes) : file_->framed->Append(bytes);
}

Status VolumeHandle::PositionedAppend(ByteView bytes, std::uint64_t offset) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) return file_->plain->PositionedAppend(bytes, offset);
  if (offset != file_->framed->size()) {
    return Fail(Code::kInvalidArgument, fmt::format("file {}: written at {} but its end is at {}",
                                                    file_->id.value, offset, file_->framed->size()));
  }
  return file_->framed->Append(bytes);
}

Status VolumeHandle::Truncate(std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) return file_->plain->Truncate(size);
  if (size != file_->framed->size()) return core_->TruncateFramed(*file_, size);
  ZENFS_RETURN_IF_ERROR(core_->EnsureCommitted(*file_));
  return file_->framed->Sync();
}

Status VolumeHandle::Flush() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) return {};
  ZENFS_RETURN_IF_ERROR(core_->EnsureCommitted(*file_));
  return file_->framed->Flush();
}

Status VolumeHandle::Sync() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) return core_->SyncPlain(*file_);
  ZENFS_RETURN_IF_ERROR(core_->EnsureCommitted(*file_));
  return file_->framed->Sync();
}

Status VolumeHandle::Close() {
  if (!writable_ || closed_.exchange(true)) return {};
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, core_->Enter(true));
  return core_->EndWriting(*file_);
}

void VolumeHandle::SetLifetime(Lifetime lifetime) {
  const Result<Gate::Entry> entry = EnterWriting();
  if (entry) core_->SetLifetime(*file_, lifetime);
}

}  // namespace zenfs
