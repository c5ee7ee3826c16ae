#include "rocksdb_plugin/sequential_file.h"

#include <algorithm>

#include "rocksdb_plugin/read_into.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

SequentialFile::SequentialFile(MountedFile file, const FileOptions& options)
    : file_(std::move(file)), direct_(options.use_direct_reads && file_.MayBeDirect()) {}

IOStatus SequentialFile::Read(size_t n, const IOOptions&, Slice* result, char* scratch, IODebugContext*) {
  return Guarded([&] {
    IOStatus status = ReadInto(file_, position_, n, result, scratch);
    position_ += result->size();
    return status;
  });
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

IOStatus SequentialFile::InvalidateCache(size_t, size_t) { return IOStatus::OK(); }

}  // namespace zenfs
