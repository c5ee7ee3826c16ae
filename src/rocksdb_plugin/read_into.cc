#include "rocksdb_plugin/read_into.h"

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result, char* scratch,
                  ReadSource source) {
  *result = Slice();
  if (n == 0) return IOStatus::OK();
  const Result<std::size_t> count = file.handle->Read(offset, ScratchBytes(scratch, n), source);
  if (!count) return ToIOStatus(count.error(), "reading", file.path);
  *result = Slice(scratch, *count);
  return IOStatus::OK();
}

}  // namespace zenfs
