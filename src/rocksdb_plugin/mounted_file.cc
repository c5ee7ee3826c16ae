#include "rocksdb_plugin/mounted_file.h"

#include <cstring>

#include "base/coding.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

constexpr std::size_t kLongestVarint = 10;

char* WriteVarint(char* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

std::string_view UuidBytes(const Volume& volume) {
  const auto& bytes = volume.info().superblock.uuid.bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result, char* scratch,
                  ReadSource source) {
  *result = Slice();
  if (n == 0) return IOStatus::OK();
  const Result<std::size_t> count = file.handle->Read(offset, ScratchBytes(scratch, n), source);
  if (!count) return ToIOStatus(count.error(), "reading", file.path);
  *result = Slice(scratch, *count);
  return IOStatus::OK();
}

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

std::string OpenMetadataOf(const MountedFile& file) {
  std::string metadata(UuidBytes(*file.volume));
  PutFixed<std::uint64_t>(metadata, file.handle->id().value);
  return metadata;
}

FileId FileOfOpenMetadata(const Volume& volume, std::string_view metadata) {
  const std::string_view uuid = UuidBytes(volume);
  if (!metadata.starts_with(uuid)) return kNoFile;
  Decoder decoder(AsBytes(metadata.substr(uuid.size())));
  const FileId id{decoder.Fixed<std::uint64_t>()};
  return decoder.ok() && decoder.AtEnd() ? id : kNoFile;
}

}  // namespace zenfs
