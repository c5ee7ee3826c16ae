#include "aside/copy_check.h"

namespace zenfs {
namespace {

// Deletes what it finds and writes all log zones once, so that those that held frames are reset.
Status WriteAndUnmount(CrashDevice& device, const MountOptions& options) {
  constexpr std::uint64_t kRecord = 64 << 10;
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, MountBorrowed(device, options));
  ZENFS_ASSIGN_OR_RETURN(const FoundTree found, Find(*volume));
  for (const auto& [path, entry] : found) {
    if (!entry.is_directory) ZENFS_RETURN_IF_ERROR(volume->Unlink(path));
  }
  const Geometry& geometry = volume->info().geometry;
  const std::uint64_t bytes =
      geometry.log_zones * device.emulator_geometry().capacity_of(ZoneId(geometry.main_zones()));
  const std::string record(kRecord, 'c');
  for (std::uint64_t written = 0; written < bytes; written += geometry.zone_size) {
    ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume->Create("of-the-copy.log"));
    for (std::uint64_t in_file = 0; in_file < geometry.zone_size; in_file += kRecord) {
      ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(record)));
      ZENFS_RETURN_IF_ERROR(file->Sync());
    }
    ZENFS_RETURN_IF_ERROR(file->Close());
    ZENFS_RETURN_IF_ERROR(volume->Unlink("of-the-copy.log"));
  }
  return volume->Unmount();
}

}  // namespace

std::string WhyNotOfDifferentTimes(const CrashDevice& main, const CrashDevice& logs, const CopyCheck& check,
                                   const std::string& what) {
  const auto pair = main.ImageWithLogsOf(logs);
  const auto mounted = MountBorrowed(*pair, check.mount);
  if (!mounted || !(*mounted)->notices().empty()) return {};
  const auto found = Find(**mounted);
  if (!found) return {};
  const std::string why = WhyNotAny(*found, CrashKind::kPowerLost, check.expected);
  return why.empty() ? why : what + ", mounted without a word: " + why;
}

std::string WhyNotBesideOriginal(const CrashDevice& device, const CopyCheck& check) {
  const auto copy = device.Image(LossPolicy::KeepAll());
  if (!WriteAndUnmount(*copy, check.mount).ok()) return {};
  return WhyNotOfDifferentTimes(device, *copy, check,
                                "a copy of the main device was mounted with this log device");
}

}  // namespace zenfs
