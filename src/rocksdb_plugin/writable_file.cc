#include "rocksdb_plugin/writable_file.h"

#include <fmt/format.h>

#include "base/coding.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

ByteView Bytes(const Slice& data) { return AsBytes({data.data(), data.size()}); }

// Bytes refused because of their checksum are not lost: RocksDB still has them.
IOStatus NothingLost(IOStatus status) {
  if (status.IsCorruption()) status.SetDataLoss(false);
  return status;
}

}  // namespace

WritableFile::WritableFile(MountedFile file, const FileOptions& options)
    : rocksdb::FSWritableFile(options),
      file_(std::move(file)),
      direct_(options.use_direct_writes && file_.MayBeDirect()),
      fills_cache_(!options.use_direct_writes && !options.use_direct_reads),
      verifies_(options.handoff_checksum_type == rocksdb::ChecksumType::kCRC32c) {}

IOStatus WritableFile::HandedOver(const DataVerificationInfo& info, KnownCrc& crc) const {
  if (!verifies_ || info.checksum.empty()) return IOStatus::OK();
  Decoder decoder(Bytes(info.checksum));
  crc = decoder.Fixed<std::uint32_t>();
  if (decoder.ok() && decoder.AtEnd()) return IOStatus::OK();
  return IOStatus::InvalidArgument(
      WhileDoing("appending to", file_.path),
      fmt::format("a CRC32C has 4 bytes, the checksum handed over has {}", info.checksum.size()));
}

IOStatus WritableFile::Append(const Slice& data, const IOOptions&, IODebugContext*) {
  return Guarded(
      [&] { return ToWriteStatus(file_.handle->Append(Bytes(data)), "appending to", file_.path); });
}

IOStatus WritableFile::Append(const Slice& data, const IOOptions&,
                              const DataVerificationInfo& verification_info, IODebugContext*) {
  return Guarded([&] {
    KnownCrc crc;
    IOStatus readable = HandedOver(verification_info, crc);
    if (!readable.ok()) return readable;
    return NothingLost(ToWriteStatus(file_.handle->Append(Bytes(data), crc), "appending to", file_.path));
  });
}

IOStatus WritableFile::PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                                        IODebugContext*) {
  return Guarded([&] {
    return ToWriteStatus(file_.handle->PositionedAppend(Bytes(data), offset), "writing to", file_.path);
  });
}

IOStatus WritableFile::PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                                        const DataVerificationInfo& verification_info, IODebugContext*) {
  return Guarded([&] {
    KnownCrc crc;
    IOStatus readable = HandedOver(verification_info, crc);
    if (!readable.ok()) return readable;
    return NothingLost(
        ToWriteStatus(file_.handle->PositionedAppend(Bytes(data), offset, crc), "writing to", file_.path));
  });
}

IOStatus WritableFile::Truncate(uint64_t size, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(file_.handle->Truncate(size), "truncating", file_.path); });
}

IOStatus WritableFile::Close(const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    IOStatus closed = ToWriteStatus(file_.handle->Close(), "closing", file_.path);
    if (closed.ok() && fills_cache_) file_.handle->Advise(0, file_.handle->size(), CacheAdvice::kWillNeed);
    return closed;
  });
}

IOStatus WritableFile::Flush(const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(file_.handle->Flush(), "flushing", file_.path); });
}

IOStatus WritableFile::Sync(const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(file_.handle->Sync(), "syncing", file_.path); });
}

IOStatus WritableFile::Fsync(const IOOptions& options, IODebugContext* dbg) { return Sync(options, dbg); }

void WritableFile::SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) {
  rocksdb::FSWritableFile::SetWriteLifeTimeHint(hint);
  Guarded([&] {
    file_.handle->SetLifetime(LifetimeOf(hint));
    return IOStatus::OK();
  }).PermitUncheckedError();  // an error only affects placement
}

uint64_t WritableFile::GetFileSize(const IOOptions&, IODebugContext*) { return file_.handle->size(); }

size_t WritableFile::GetUniqueId(char* id, size_t max_size) const {
  return WriteUniqueId(file_, id, max_size);
}

IOStatus WritableFile::InvalidateCache(size_t, size_t) { return IOStatus::OK(); }

void WritableFile::PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) {}

}  // namespace zenfs
