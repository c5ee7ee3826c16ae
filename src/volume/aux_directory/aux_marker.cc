#include "volume/aux_directory/aux_marker.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <span>
#include <utility>

#include "base/shared_memory.h"

namespace zenfs {
namespace {

constexpr mode_t kMarkerMode = 0600;

std::string TemporaryMarker() { return std::string(kAuxMarker) + ".new"; }

std::string TextOf(const Uuid& volume, const Uuid& secret) {
  return fmt::format("{} {}\n", volume.ToString(), secret.ToString());
}

}  // namespace

Result<AuxMarker> AuxMarker::Prepare(HostDirectory directory, const Uuid& volume, const Uuid& secret) {
  ZENFS_ASSIGN_OR_RETURN(HostFile file, directory.Create(TemporaryMarker(), kMarkerMode));
  AuxMarker marker(std::move(directory));
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(TextOf(volume, secret))));
  ZENFS_RETURN_IF_ERROR(file.Sync());
  return marker;
}

AuxMarker::~AuxMarker() {
  if (pending_) IgnoreError(directory_.RemoveFile(TemporaryMarker()));  // a leftover is never read
}

Status AuxMarker::Keep() {
  ZENFS_RETURN_IF_ERROR(directory_.Rename(TemporaryMarker(), std::string(kAuxMarker)));
  pending_ = false;
  return directory_.Sync("");
}

Status CheckAuxMarker(const HostDirectory& directory, const Superblock& superblock) {
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kPermission, fmt::format("{} {}", directory.PathOf(kAuxMarker), why));
  };
  if (superblock.aux_secret.IsNil()) return refuse("can't name a file system of an older version");
  const auto file = directory.OpenForRead(std::string(kAuxMarker));
  if (!file) {
    return file.error().code() == Code::kNotFound ? refuse("does not exist")
                                                  : refuse("can't be read: " + file.error().ToString());
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file->Stat());
  if (!IsTrustedOwner(stat.owner, {})) return refuse("belongs to another user");
  if ((stat.mode & (S_IRWXG | S_IRWXO)) != 0)
    return refuse("can be read by other users (it needs mode 0600)");
  const std::string expected = TextOf(superblock.uuid, superblock.aux_secret);
  std::string text(expected.size() + 1, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file->Read(0, std::as_writable_bytes(std::span(text))));
  text.resize(n);
  return text == expected ? Status() : refuse("is that of another file system");
}

}  // namespace zenfs
