#include "aside/dead_zone_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace zenfs {
namespace {

// What a mount shows while all zones are well, and the files with bytes in each zone.
struct Healthy {
  FoundTree found;
  std::map<ZoneId, std::set<std::string>> in_zone;
  std::set<ZoneId> log_zones;
};

// Adds the zones of all files. The recovery of a mount may move bytes, so a reader is asked before it.
Status AddPlaces(Volume& volume, const FoundTree& found, Healthy& healthy) {
  const Geometry& geometry = volume.info().geometry;
  for (const auto& [path, entry] : found) {
    if (entry.is_directory) continue;
    ZENFS_ASSIGN_OR_RETURN(const FileLayout layout, volume.Layout(path));
    for (const Extent& extent : layout.extents) healthy.in_zone[geometry.ZoneOf(extent.place)].insert(path);
    for (const Extent& frame : layout.frames) healthy.in_zone[geometry.ZoneOf(frame.place)].insert(path);
  }
  for (const ZoneStatus& zone : volume.Zones()) {
    if (zone.phase == ZonePhase::kLog) healthy.log_zones.insert(zone.id);
  }
  return {};
}

Result<Healthy> LookAtHealthy(const CrashDevice& device, const MountOptions& options) {
  const auto image = device.Image(LossPolicy::KeepAll());
  Healthy healthy;
  {
    ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> reader, MountReader(*image));
    ZENFS_ASSIGN_OR_RETURN(const FoundTree found, Find(*reader));
    ZENFS_RETURN_IF_ERROR(AddPlaces(*reader, found, healthy));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, MountBorrowed(*image, options));
  ZENFS_ASSIGN_OR_RETURN(healthy.found, Find(*volume));
  ZENFS_RETURN_IF_ERROR(AddPlaces(*volume, healthy.found, healthy));
  return healthy;
}

// The written zones that may die.
std::vector<ZoneId> Mortal(const CrashDevice& device, const DeadZoneCheck& check, const Healthy& healthy) {
  const auto image = device.Image(LossPolicy::KeepAll());
  std::vector<ZoneId> mortal;
  const auto report = ReportAll(*image);
  if (!report) return mortal;
  for (const ZoneInfo& zone : *report) {
    if (zone.condition == ZoneCondition::kEmpty || zone.condition == ZoneCondition::kOffline ||
        zone.condition == ZoneCondition::kNotWritePointer)
      continue;
    const bool is_metadata = (std::ranges::count(check.metadata_zones, zone.id) != 0);
    if (!check.log_zones && healthy.log_zones.contains(zone.id)) continue;
    if (is_metadata || healthy.in_zone.contains(zone.id)) mortal.push_back(zone.id);
  }
  return mortal;
}

// The errors of a check.
struct Errors {
  std::string text;
  std::uint64_t others = 0;  // files that the finding about the dead zone counts and does not name
};

Errors FindErrors(CrashDevice& image, ZoneId dead) {
  Errors errors;
  const auto report = CheckBorrowed(image);
  if (!report) return {.text = report.error().ToString()};
  for (const Finding& finding : report->findings) {
    if (finding.severity != Severity::kError) continue;
    errors.text += finding.text + "\n";
    for (const std::string& path : finding.paths) errors.text += path + "\n";
    if (finding.zone == dead) errors.others = std::max(errors.others, finding.more_paths);
  }
  return errors;
}

// `unnamed`: the damaged files so far that no finding names; adds this one if it is another of them.
std::string WhyNotFile(Volume& volume, const std::string& path, const FoundEntry& expected, bool hurt,
                       const Errors& errors, std::set<std::uint64_t>& unnamed) {
  const Result<std::string> content = ReadWhole(volume, path);
  if (content && *content == expected.content) return {};
  if (!hurt) {
    return "not in that zone: " + (content ? path + ": " + DescribeMismatch(expected.content, *content)
                                           : content.error().ToString());
  }
  if (!content || errors.text.contains(path)) return {};
  unnamed.insert(expected.id);
  if (unnamed.size() <= errors.others) return {};
  return fmt::format("{} is damaged ({}), and a check says only: {}", path,
                     DescribeMismatch(expected.content, *content),
                     errors.text.empty() ? "clean" : errors.text);
}

}  // namespace

std::string WhyNotWithoutAZone(const CrashDevice& device, const DeadZoneCheck& check,
                               const std::function<void()>& prepare, Random& random) {
  prepare();
  const Result<Healthy> healthy = LookAtHealthy(device, check.mount);
  if (!healthy) return {};  // examined elsewhere
  const std::vector<ZoneId> mortal = Mortal(device, check, *healthy);
  if (mortal.empty()) return {};
  const ZoneId zone = mortal[random.Below(mortal.size())];
  const bool is_metadata = (std::ranges::count(check.metadata_zones, zone) != 0);
  const bool read_only = random.OneIn(3);
  const auto image = device.Image(LossPolicy::KeepAll());
  const Status died =
      image->SetCondition(zone, read_only ? ZoneCondition::kReadOnly : ZoneCondition::kOffline);
  if (!died.ok()) return {};
  const std::string where = fmt::format("zone {}{} turns {}: ", zone.value,
                                        is_metadata                         ? ", of the metadata,"
                                        : healthy->log_zones.contains(zone) ? ", of the log,"
                                                                            : "",
                                        read_only ? "read-only" : "offline");
  prepare();
  const Errors errors = FindErrors(*image, zone);
  const auto mounted = MountBorrowed(*image, check.mount);
  if (!mounted) return where + "mount: " + mounted.error().ToString();
  if (is_metadata || read_only) {
    const auto found = Find(**mounted);
    if (!found) return where + found.error().ToString();
    const std::string why = WhyNotAny(*found, check.kind, check.expected);
    return why.empty() ? why : where + why;
  }
  const auto hurt = healthy->in_zone.find(zone);
  std::set<std::uint64_t> unnamed;
  for (const auto& [path, entry] : healthy->found) {
    if (entry.is_directory) continue;
    const bool is_hurt = hurt != healthy->in_zone.end() && hurt->second.contains(path);
    if (std::string why = WhyNotFile(**mounted, path, entry, is_hurt, errors, unnamed); !why.empty())
      return where + why;
  }
  return {};
}

std::string WhyNotWithRottenMetadata(const CrashDevice& device, const DeadZoneCheck& check,
                                     const std::function<void()>& prepare, Random& random) {
  const auto image = device.Image(LossPolicy::KeepAll());
  const ZoneId zone = check.metadata_zones[random.Below(check.metadata_zones.size())];
  const auto report = image->ReportZone(zone);
  if (!report || report->WrittenBytes() == 0) return {};
  // Frames are short and begin at blocks; the rest of their blocks is padding.
  constexpr std::uint64_t kFrameBytes = 96;
  const std::uint32_t block = image->geometry().block_size;
  const std::uint64_t byte = random.Below(report->WrittenBytes() / block) * block + random.Below(kFrameBytes);
  if (!image->Rot(image->geometry().ZoneStart(zone) + byte, std::byte{1})) return {};
  const std::string where = fmt::format("byte {} of zone {}, of the metadata, is rotten: ", byte, zone.value);
  prepare();
  const auto mounted = MountBorrowed(*image, check.mount);
  if (!mounted) return where + "mount: " + mounted.error().ToString();
  const auto found = Find(**mounted);
  if (!found) return where + found.error().ToString();
  const std::string why = WhyNotAny(*found, check.kind, check.expected);
  return why.empty() ? why : where + why;
}

}  // namespace zenfs
