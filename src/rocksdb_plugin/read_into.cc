#include "rocksdb_plugin/read_into.h"

#include <fmt/format.h>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

IOStatus CheckScratch(const MountedFile& file, std::size_t n, const char* scratch) {
  if (scratch != nullptr || n == 0) return IOStatus::OK();
  return IOStatus::NotSupported(fmt::format(
      "While reading {}: zenfs can't map files into memory, set allow_mmap_reads to false", file.path));
}

IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result,
                  char* scratch) {
  *result = Slice();
  IOStatus checked = CheckScratch(file, n, scratch);
  if (!checked.ok() || n == 0) return checked;
  const Result<std::size_t> count = file.handle->Read(offset, ScratchBytes(scratch, n));
  if (!count) return ToIOStatus(count.error(), "reading", file.path);
  *result = Slice(scratch, *count);
  return IOStatus::OK();
}

}  // namespace zenfs
