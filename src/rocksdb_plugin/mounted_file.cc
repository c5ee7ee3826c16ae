#include "rocksdb_plugin/mounted_file.h"

#include <cstring>

namespace zenfs {

namespace {

constexpr std::size_t kLongestVarint = 10;

char* WriteVarint(char* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

}  // namespace

std::size_t WriteUniqueId(const MountedFile& file, char* id, std::size_t max_size) {
  if (max_size < 3 * kLongestVarint) return 0;
  const Uuid& uuid = file.volume->info().superblock.uuid;
  std::uint64_t halves[2];
  static_assert(sizeof halves == sizeof uuid.bytes);
  std::memcpy(halves, uuid.bytes.data(), sizeof halves);
  char* end = WriteVarint(id, halves[0]);
  end = WriteVarint(end, halves[1]);
  end = WriteVarint(end, file.handle->id().value);
  return static_cast<std::size_t>(end - id);
}

}  // namespace zenfs
