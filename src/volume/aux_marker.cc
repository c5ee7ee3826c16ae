#include "volume/aux_marker.h"

#include <sys/stat.h>

#include <span>

#include "base/shared_memory.h"

namespace zenfs {
namespace {

constexpr std::size_t kUuidText = 36;

std::string TemporaryMarker() { return std::string(kAuxMarker) + ".new"; }

bool IsOwn(const HostStat& stat) { return IsTrustedOwner(stat.owner, {}); }

}  // namespace

bool IsOwnDirectory(const HostStat& stat) {
  if (stat.kind != HostStat::Kind::kDirectory || !IsOwn(stat)) return false;
  return (stat.mode & S_IWOTH) == 0 || (stat.mode & S_ISVTX) != 0;
}

Result<AuxMarker> AuxMarker::Prepare(const std::string& directory, const Uuid& volume) {
  ZENFS_ASSIGN_OR_RETURN(HostDirectory opened, HostDirectory::Open(directory));
  ZENFS_ASSIGN_OR_RETURN(HostFile file, opened.Create(TemporaryMarker(), 0644));
  AuxMarker marker(std::move(opened));
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(volume.ToString() + "\n")));
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

std::optional<Uuid> MarkedVolume(const std::string& directory) {
  const auto opened = HostDirectory::Open(directory);
  if (!opened) return std::nullopt;
  const auto file = opened->OpenForRead(std::string(kAuxMarker));
  if (!file) return std::nullopt;
  const auto stat = file->Stat();
  if (!stat || !IsOwn(*stat)) return std::nullopt;
  std::string text(kUuidText, '\0');
  const auto n = file->Read(0, std::as_writable_bytes(std::span(text)));
  return n && *n == kUuidText ? Uuid::Parse(text) : std::nullopt;
}

}  // namespace zenfs
