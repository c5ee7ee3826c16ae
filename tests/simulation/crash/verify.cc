#include "verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/aligned_buffer.h"
#include "testing/split_device.h"
#include "volume/mkfs.h"
#include "volume/shared_buffers.h"

namespace zenfs {
namespace {

Status WriteSomeMoreTo(Volume& volume, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume.OpenForAppend(path, true));
  ZENFS_RETURN_IF_ERROR(file->Append(AsBytes("written after the crash to " + path)));
  ZENFS_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

// True if all garbage is in zones that hold data of this file. While it is written they can't be emptied, so a write that
// needs their room waits in vain (docs/internals/space.md, "What it costs").
bool HoldsAllGarbage(Volume& volume, const std::string& path) {
  const auto layout = volume.Layout(path);
  if (!layout) return false;
  return std::ranges::all_of(volume.Zones(), [&](const ZoneStatus& zone) {
    if (zone.phase != ZonePhase::kFull || zone.live == zone.written) return true;
    return std::ranges::any_of(layout->extents, [&](const Extent& extent) {
      return volume.info().geometry.ZoneOf(extent.place) == zone.id;
    });
  });
}

// Appends to every log and to new files of both shapes, and syncs. The result must stay. `may_be_full`: a full device is
// no failure; then nothing is promised of the file at `unsynced`.
Status WriteSomeMore(Volume& volume, const FoundTree& found, bool may_be_full, std::string& unsynced) {
  std::vector<std::string> paths = {"after-the-crash", "after-the-crash.log"};
  for (const auto& [path, entry] : found) {
    if (!entry.is_directory) paths.push_back(path);
  }
  for (const std::string& path : paths) {
    const Status written = WriteSomeMoreTo(volume, path);
    if (written.ok()) continue;
    const Code code = written.error().code();
    const bool full = code == Code::kNoSpace || (code == Code::kTimedOut && HoldsAllGarbage(volume, path));
    if (!may_be_full || !full) return written;
    unsynced = path;
    return {};
  }
  return {};
}

// Mounts the device that an earlier mount left, and compares.
std::string StillThere(CrashDevice& image, const FoundTree& expected, const VerifyOptions& options,
                       const std::string& when, const std::string& except = "", bool discards = true) {
  MountOptions mount = options.mount;
  mount.discard_unsynced = discards;  // bytes replayed from shared memory are on the device
  const auto volume = MountBorrowed(image, mount);
  if (!volume && options.allow_no_mount && volume.error().code() == Code::kNoSpace) return {};
  if (!volume) return when + ": mount: " + volume.error().ToString();
  auto found = Find(**volume);
  if (!found) return when + ": " + found.error().ToString();
  found->erase(except);
  const std::string difference = Difference(expected, *found);
  return difference.empty() ? std::string() : when + ": " + difference;
}

// Flushed bytes waited in shared memory, which is lost: the volume mounts, with what a power loss may leave.
std::string WhyNotMounted(CrashDevice& image, const VerifyOptions& options, const std::string& when,
                          const std::vector<const Expectation*>& expected) {
  const auto found = FindDurable(image, options.mount);
  if (!found) return when + ": " + found.error().ToString();
  const std::string why = WhyNotAny(*found, CrashKind::kPowerLost, expected);
  return why.empty() ? why : when + ": " + why;
}

// " (active: zone 3 at 8192, ...)", for failures about the device's limits.
std::string DescribeActive(CrashDevice& device) {
  const auto report = device.Report(ZoneId(0), device.geometry().zone_count);
  std::string text;
  if (!report) return text;
  for (const ZoneInfo& zone : *report) {
    if (IsActive(zone.condition))
      text += fmt::format(" (active: zone {} at {})", zone.id.value, zone.WrittenBytes());
  }
  return text;
}

std::string DescribeSpace(Volume& volume) {
  const SpaceReport space = volume.Space();
  std::string text =
      fmt::format(" ({} KiB: {} live, {} garbage, {} of the log, {} free; zones", space.total / 1024,
                  space.live / 1024, space.garbage / 1024, space.log / 1024, space.free / 1024);
  for (const ZoneStatus& zone : volume.Zones()) {
    if (zone.written != 0)
      text += fmt::format(" {}:{}/{}", zone.id.value, zone.live / 1024, zone.written / 1024);
  }
  return text + ")";
}

// Files first, then directories from the deepest on.
Status DeleteAll(Volume& volume, const FoundTree& found) {
  for (const auto& [path, entry] : found) {
    if (!entry.is_directory) ZENFS_RETURN_IF_ERROR(volume.Unlink(path));
  }
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    if (entry->second.is_directory) ZENFS_RETURN_IF_ERROR(volume.RemoveDirectory(entry->first));
  }
  return {};
}

// Deletes everything; a file that needs half of the space for data must then find it.
std::string WhyNotFreed(CrashDevice& image, const MountOptions& options) {
  const auto volume = MountBorrowed(image, options);
  if (!volume) return "mount to delete everything: " + volume.error().ToString();
  const auto found = Find(**volume);
  if (!found) return "read before deleting everything: " + found.error().ToString();
  if (const Status deleted = DeleteAll(**volume, *found); !deleted.ok())
    return "delete everything: " + deleted.error().ToString() + DescribeSpace(**volume);
  const SpaceReport space = (*volume)->Space();
  AlignedBuffer bytes((space.live + space.garbage + space.free) / 2);
  bytes.Resize(bytes.capacity());
  std::ranges::fill(bytes.Span(), std::byte{0});
  const auto write = [&]() -> Status {
    ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, (*volume)->Create("freed.sst"));
    ZENFS_RETURN_IF_ERROR(file->Append(bytes.View()));
    return file->Sync();
  };
  if (const Status written = write(); !written.ok())
    return "write after everything was deleted: " + written.error().ToString() + DescribeSpace(**volume);
  return {};
}

}  // namespace

std::string WhyNotAny(const FoundTree& found, CrashKind kind,
                      const std::vector<const Expectation*>& expected) {
  for (const Expectation* each : expected) {
    FoundTree own;
    for (const auto& [path, entry] : found) {
      const std::string& root = each->root();
      if (root.empty() || path == root || path.starts_with(root + "/")) own.emplace(path, entry);
    }
    if (std::string why = each->WhyNot(own, kind); !why.empty()) return why;
  }
  return {};
}

Result<std::shared_ptr<Volume>> MountBorrowed(ZonedDevice& device, const MountOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> joined, BorrowJoined(device));
  return Volume::Mount(std::move(joined), options);
}

Result<std::shared_ptr<Volume>> MountReader(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> joined, BorrowJoined(device, OpenMode::kReadOnly));
  return Volume::Mount(std::move(joined), {});
}

Result<CheckReport> CheckBorrowed(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> joined, BorrowJoined(device));
  return CheckVolume(*joined, {.read_data = true, .progress = {}});
}

Result<ScrubReport> ScrubBorrowed(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> joined, BorrowJoined(device));
  return ScrubVolume(*joined, {});
}

Result<FormatReport> FormatBorrowed(ZonedDevice& device) {
  if (!IsSplit(device)) return FormatVolume(device, {});
  const SplitParts parts = Split(device, OpenMode::kExclusive);
  return FormatTwoDevices({.main = *parts.main,
                           .logs = *parts.logs,
                           .main_name = parts.main->name(),
                           .logs_name = parts.logs->name()},
                          {});
}

Status Mkfs(ZonedDevice& device) {
  const auto formatted = FormatBorrowed(device);
  if (!formatted) return Fail(formatted.error());
  return {};
}

bool BytesWait(const Volume& volume) {
  const std::string path = volume.shared_memory_path();
  return !path.empty() && LookAtSharedBuffers(path).held_bytes != 0;
}

Result<FoundTree> FindDurable(CrashDevice& image, const MountOptions& options) {
  MountOptions mount = options;
  mount.discard_unsynced = true;
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, MountBorrowed(image, mount));
  return Find(*volume);
}

std::string FirstCheckError(ZonedDevice& image, bool allow_damaged_buffers, bool allow_offline) {
  const auto report = CheckBorrowed(image);
  if (!report) return report.error().ToString();
  for (const Finding& finding : report->findings) {
    if (finding.severity != Severity::kError) continue;
    if (allow_damaged_buffers && finding.text == report->unsynced) continue;
    // Nobody can know then whether an offline zone had live frames.
    if (allow_offline &&
        finding.text.find(" is offline: data that is only there is lost") != std::string::npos)
      continue;
    // The memory survived the loss of the device's cache; nobody can know then what was synced.
    if (finding.text.find("which were flushed, are lost too") != std::string::npos) continue;
    return finding.text;
  }
  return "";
}

std::string FirstScrubError(ZonedDevice& image, bool allow_unsummed) {
  const auto report = ScrubBorrowed(image);
  if (!report) return report.error().ToString();
  if (const Finding* const error = FirstError(report->findings); error != nullptr) return error->text;
  if (allow_unsummed || report->bytes_without_checksum == 0) return "";
  return fmt::format("{} bytes of files have no checksum", report->bytes_without_checksum);
}

std::string VerifyImage(CrashDevice& image, CrashKind kind, const std::vector<const Expectation*>& expected) {
  return VerifyImage(image, kind, expected, {});
}

std::string VerifyImage(CrashDevice& image, CrashKind kind, const std::vector<const Expectation*>& expected,
                        const VerifyOptions& options) {
  if (const std::string error = FirstCheckError(image, options.mount.discard_unsynced, options.allow_notices);
      !error.empty())
    return "check as found: " + error;
  auto mounted = MountBorrowed(image, options.mount);
  if (!mounted && options.allow_no_mount && mounted.error().code() == Code::kNoSpace &&
      !options.mount.discard_unsynced) {
    // A device full of logs: flushed bytes wait in shared memory for room, and can be discarded.
    VerifyOptions without = options;
    without.mount.discard_unsynced = true;
    return VerifyImage(image, CrashKind::kPowerLost, expected, without);
  }
  if (!mounted) return "mount: " + mounted.error().ToString();
  std::shared_ptr<Volume> volume = *std::move(mounted);
  const auto found = Find(*volume);
  if (!found) return "read: " + found.error().ToString();
  if (const std::string why = WhyNotAny(*found, kind, expected); !why.empty()) return why;
  if (!options.allow_notices && !volume->notices().empty())
    return "a notice of damage: " + volume->notices().front();

  const auto mounted_only = image.Image(LossPolicy::LoseAll());
  const bool waited = BytesWait(*volume);
  std::string unsynced;
  const Status more = WriteSomeMore(*volume, *found, options.allow_no_space || options.allow_full, unsynced);
  if (!more.ok())
    return "write on: " + more.error().ToString() + DescribeActive(image) + DescribeSpace(*volume);
  auto after = Find(*volume);
  if (!after) return "read after writing on: " + after.error().ToString();
  after->erase(unsynced);
  const auto lost = image.Image(LossPolicy::LoseAll());
  // What waited goes to the device when that has room, and is stable there only after a sync, as all flushed bytes.
  const bool wait = waited || BytesWait(*volume);
  const std::size_t notices = volume->notices().size();
  const Status unmounted = volume->Unmount();
  // The bytes that found no space are said to be lost once more.
  if (!unmounted.ok() && (unsynced.empty() || unmounted.error().code() != Code::kNoSpace))
    return "unmount: " + unmounted.error().ToString();
  // Without space, flushed bytes stay in shared memory for the next mount.
  const bool may_be_full = options.allow_full || options.allow_no_space;
  const bool keeps = (may_be_full && volume->notices().size() != notices) || !unmounted.ok();
  volume.reset();
  if (const std::string error = FirstCheckError(image, false, options.allow_notices); !error.empty())
    return "check after recovery: " + error;
  if (const std::string error = keeps ? "" : FirstScrubError(image, options.allow_unsummed); !error.empty())
    return "scrub after recovery: " + error;
  if (std::string why = StillThere(image, *after, options, "remounted", unsynced, !keeps); !why.empty())
    return why;
  const std::string right_after = "power lost right after recovery";
  if (std::string why = waited ? WhyNotMounted(*mounted_only, options, right_after, expected)
                               : StillThere(*mounted_only, *found, options, right_after);
      !why.empty())
    return why;
  const std::string later = "power lost after writing on";
  if (std::string why = wait ? WhyNotMounted(*lost, options, later, {})
                             : StillThere(*lost, *after, options, later, unsynced);
      !why.empty())
    return why;
  return options.frees ? WhyNotFreed(image, options.mount) : std::string();
}

std::string Verify(const CrashDevice& device, LossPolicy loss,
                   const std::vector<const Expectation*>& expected) {
  const auto image = device.Image(loss);
  const CrashKind kind =
      loss.kind == LossPolicy::Kind::kKeepAll ? CrashKind::kProcessDied : CrashKind::kPowerLost;
  return VerifyImage(*image, kind, expected);
}

std::vector<LossPolicy> Losses(std::uint64_t seed, int random) {
  std::vector<LossPolicy> losses = {LossPolicy::LoseAll(), LossPolicy::KeepAll()};
  for (int i = 0; i < random; ++i)
    losses.push_back(LossPolicy::Random(seed * 1000 + static_cast<std::uint64_t>(i)));
  return losses;
}

std::string Describe(LossPolicy loss) {
  switch (loss.kind) {
    case LossPolicy::Kind::kKeepAll: return "nothing lost";
    case LossPolicy::Kind::kLoseAll: return "everything unflushed lost";
    case LossPolicy::Kind::kRandom: return fmt::format("random loss, seed {}", loss.seed);
  }
  return {};
}

bool FullRun() {
  const char* full = std::getenv("ZENFS_FULL");
  return full != nullptr && *full != '\0' && *full != '0';
}

}  // namespace zenfs
