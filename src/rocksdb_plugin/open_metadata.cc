#include "rocksdb_plugin/open_metadata.h"

#include "base/coding.h"

namespace zenfs {

namespace {

std::string_view UuidBytes(const Volume& volume) {
  const auto& bytes = volume.info().superblock.uuid.bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

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
