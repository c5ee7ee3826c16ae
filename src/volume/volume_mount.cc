// Volume::Mount: from a device to the kind of mount that fits it.
#include <fmt/format.h>

#include "device/guarded_device.h"
#include "metalog/probe.h"
#include "volume/reader_volume.h"
#include "volume/recovery.h"

namespace zenfs {

FileShape ShapeForName(std::string_view name) {
  const bool framed =
      name.ends_with(".log") || name.starts_with("MANIFEST-") || name == "LOG" || name.starts_with("LOG.");
  return framed ? FileShape::kFramed : FileShape::kPlain;
}

Result<std::shared_ptr<Volume>> Volume::Mount(std::unique_ptr<ZonedDevice> device,
                                              const MountOptions& options) {
  device = GuardDevice(std::move(device));
  ZENFS_RETURN_IF_ERROR(PlanSlots(device->geometry(), device->name()));
  if (device->mode() == OpenMode::kReadOnly) return ReaderVolume::Mount(std::move(device));
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeSuperblock(*device));
  const std::uint64_t unknown = superblock.read_only_compatible & ~kKnownReadOnlyCompatible;
  if (unknown != 0) {
    return Fail(Code::kReadOnly,
                fmt::format("{}: read-only-compatible feature bits {:#x} are newer than this "
                            "program; mount it read-only (?ro) or use a newer zenfs",
                            device->name(), unknown));
  }
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<MountedVolume> mounted,
                         RecoverVolume(std::move(device), std::move(superblock), options));
  // Handles keep the object; the caller's pointer is what keeps the volume mounted.
  Volume* const volume = mounted.get();
  return std::shared_ptr<Volume>(volume, [mounted = std::move(mounted)](Volume* last) {
    IgnoreError(last->Unmount());  // whoever wants to know the error calls Unmount
  });
}

}  // namespace zenfs
