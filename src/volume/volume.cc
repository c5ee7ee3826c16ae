#include "volume/volume.h"

#include <fmt/format.h>

#include "device/guarded_device.h"
#include "metalog/probe.h"
#include "volume/mount/mounted_volume.h"
#include "volume/mount/recovery.h"
#include "volume/reader/reader_volume.h"

namespace zenfs {

FileShape ShapeForName(std::string_view name) {
  const bool framed =
      name.ends_with(".log") || name.starts_with("MANIFEST-") || name == "LOG" || name.starts_with("LOG.");
  return framed ? FileShape::kFramed : FileShape::kPlain;
}

Result<std::shared_ptr<Volume>> Volume::Mount(std::unique_ptr<ZonedDevice> device,
                                              const MountOptions& options) {
  device = GuardDevice(std::move(device));
  // Only refuses a device with too few slots, before it is read. That does not depend on the number of copies of the metadata log,
  // which is in the superblock. Recovery::CountZones makes the plan that the mount uses, with that number.
  ZENFS_RETURN_IF_ERROR(PlanSlots(device->geometry(), device->name()));
  if (device->mode() == OpenMode::kReadOnly) {
    ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<ReaderMount> reader, ReaderMount::Open(std::move(device)));
    return std::make_shared<ReaderVolume>(std::move(reader));
  }
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeSuperblock(*device));
  const std::uint64_t unknown = superblock.read_only_compatible & ~kKnownReadOnlyCompatible;
  if (unknown != 0) {
    return Fail(Code::kReadOnly,
                fmt::format("{}: read-only-compatible feature bits {:#x} are newer than this "
                            "program; mount it read-only (?ro) or use a newer zenfs",
                            device->name(), unknown));
  }
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<WriterMount> writer,
                         RecoverVolume(std::move(device), std::move(superblock), options));
  return std::make_shared<MountedVolume>(std::move(writer));
}

Status TruncateFile(Volume& volume, std::string_view path, std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> handle, volume.OpenForAppend(path, false));
  ZENFS_RETURN_IF_ERROR(handle->Truncate(size));
  ZENFS_RETURN_IF_ERROR(handle->Sync());
  return handle->Close();
}

}  // namespace zenfs
