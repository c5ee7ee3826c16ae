#include "rocksdb_plugin/sequential_file.h"

#include <algorithm>
#include <cstring>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {
namespace {

constexpr std::size_t kReadAheadBytes = 1 << 20;

}  // namespace

SequentialFile::SequentialFile(MountedFile file, const FileOptions& options)
    : file_(std::move(file)), direct_(options.use_direct_reads && file_.MayBeDirect()) {}

IOStatus SequentialFile::Read(size_t n, const IOOptions&, Slice* result, char* scratch, IODebugContext*) {
  return Guarded([&] {
    const std::size_t copied = began_ && n < kReadAheadBytes ? CopyAhead(ScratchBytes(scratch, n)) : 0;
    began_ = true;
    // The end of the file, or the bytes of which the read ahead failed.
    IOStatus status = ReadInto(file_, position_ + copied, n - copied, result, scratch + copied);
    if (!status.ok()) return status;
    *result = Slice(scratch, copied + result->size());
    position_ += result->size();
    return status;
  });
}

std::size_t SequentialFile::CopyAhead(ByteSpan into) {
  std::size_t copied = 0;
  while (copied < into.size()) {
    const std::uint64_t at = position_ + copied;
    if (at < ahead_at_ || at >= ahead_at_ + ahead_.size()) ReadAhead(at);
    const ByteView ahead = ahead_.View().subspan(std::min<std::uint64_t>(at - ahead_at_, ahead_.size()));
    const std::size_t length = std::min(ahead.size(), into.size() - copied);
    if (length == 0) break;
    std::memcpy(into.data() + copied, ahead.data(), length);
    copied += length;
  }
  return copied;
}

void SequentialFile::ReadAhead(std::uint64_t offset) {
  if (ahead_.capacity() == 0) ahead_ = AlignedBuffer(kReadAheadBytes);
  ahead_.Resize(kReadAheadBytes);
  ahead_at_ = offset;
  ahead_.Resize(file_.handle->Read(offset, ahead_.Span()).value_or(0));
}

IOStatus SequentialFile::Skip(uint64_t n) {
  return Guarded([&] {
    const std::uint64_t size = file_.handle->size();
    const std::uint64_t rest = size > position_ ? size - position_ : 0;
    position_ += std::min<std::uint64_t>(n, rest);
    return IOStatus::OK();
  });
}

IOStatus SequentialFile::PositionedRead(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                                        char* scratch, IODebugContext*) {
  return Guarded([&] { return ReadInto(file_, offset, n, result, scratch); });
}

IOStatus SequentialFile::InvalidateCache(size_t, size_t) {
  ahead_.Clear();
  return IOStatus::OK();
}

}  // namespace zenfs
