#include "volume_look.h"

#include <fmt/format.h>

#include <algorithm>

#include "input.h"
#include "testing/split_device.h"
#include "volume/fsck/check_volume.h"

namespace zenfs {
namespace {

constexpr std::size_t kReadMax = 64 << 10;  // per file
constexpr std::size_t kReadDepthMax = 8;

std::string ReadAll(const FileHandle& file) {
  const std::uint64_t size = file.size();  // a reader asks the device each time
  std::string text(std::min<std::uint64_t>(size, kReadMax), '\0');
  const auto n = file.Read(0, std::as_writable_bytes(std::span(text)));
  if (!n) return "error";
  Require(*n <= text.size(), "no more is read than asked for");
  text.resize(*n);
  return fmt::format("{}:{}", size, text);
}

void CheckEntry(Volume& volume, const std::string& path) {
  Require(volume.Stat(path).has_value(), "what is listed is there");
  static_cast<void>(volume.Layout(path).has_value());
}

// Directories are listed at any depth that a path can lead to, files are read near the root.
void Collect(Volume& volume, VolumeContents& contents) {
  struct Pending {
    std::string path;
    FileId id;
    std::size_t depth = 0;
  };
  std::vector<Pending> pending{{.path = "", .id = kRootDirectory}};
  while (!pending.empty()) {
    const Pending at = std::move(pending.back());
    pending.pop_back();
    const auto entries = volume.List(at.path, at.id);
    if (!entries) continue;
    for (const DirectoryEntry& entry : *entries) {
      const std::string path = at.path + "/" + entry.name;
      const bool near = at.depth <= kReadDepthMax;
      if (near && !volume.info().read_only) CheckEntry(volume, path);  // a reader asks the device each time
      if (entry.stat.is_directory) {
        contents[path + "/"] = "";
        if (path.size() <= kMaxPathBytes) pending.push_back({path, entry.stat.id, at.depth + 1});
      } else if (near) {
        const auto file = volume.OpenForRead(path);
        contents[path] = file ? ReadAll(**file) : "error";
      }
    }
  }
}

}  // namespace

VolumeContents Look(Volume& volume) {
  static_cast<void>(volume.Space());
  static_cast<void>(volume.Zones());
  static_cast<void>(volume.notices());
  VolumeContents contents;
  Collect(volume, contents);
  return contents;
}

MountOptions ImageMountOptions() {
  return {.plain_buffer_bytes = 64 << 10, .flush_directory = "none", .space_wait = std::chrono::seconds(1)};
}

Result<std::shared_ptr<Volume>> MountImage(ZonedDevice& device, OpenMode mode) {
  ZENFS_ASSIGN_OR_RETURN(auto joined, BorrowJoined(device, mode));
  return Volume::Mount(std::move(joined), ImageMountOptions());
}

std::string FirstDamage(ZonedDevice& device, bool read_data) {
  const auto joined = BorrowJoined(device);
  if (!joined) return joined.error().ToString();
  const auto report = CheckVolume(**joined, {.read_data = read_data, .progress = {}});
  if (!report) return report.error().ToString();
  for (const Finding& finding : report->findings) {
    if (finding.severity != Severity::kError || finding.text == report->unsynced) continue;
    // Nobody can know what was in an offline zone, so this stays until the named files are deleted.
    if (finding.text.find(" is offline: data that is only there is lost") != std::string::npos) continue;
    return finding.text;
  }
  return "";
}

}  // namespace zenfs
