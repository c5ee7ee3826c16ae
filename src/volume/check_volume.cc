#include "volume/check_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/aligned_buffer.h"
#include "device/read_only_view.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "volume/check_extents.h"
#include "wal/log_replay.h"
#include "wal/log_scan.h"
#include "zone/slot_plan.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;

class Check {
 public:
  Check(ZonedDevice& device, const Superblock& superblock, const State& state,
        std::span<const ZoneInfo> report, const CheckOptions& options, CheckReport& out)
      : context_{device, superblock, state, report, out}, options_(options) {}

  void Run(bool log_carries_data) {
    for (std::string& sentence : context_.state.Check()) context_.Add(Severity::kError, std::move(sentence));
    context_.out.files = context_.state.files().size();
    context_.out.directories = context_.state.directories().size();
    CheckExtents(context_, log_carries_data);
    CheckLogZones();
    CheckLogs();
    CheckZones();
    if (options_.read_data) ReadData();
  }

 private:
  void CheckLogZones() {
    for (const auto& [id, zone] : context_.state.log_zones()) {
      if (id.value >= context_.report.size()) {
        context_.Add(
            Severity::kError,
            fmt::format("zone {} is reserved for the log, but the device has no such zone", id.value), id);
        continue;
      }
      const ZoneInfo& info = context_.report[id.value];
      if (info.condition == ZoneCondition::kOffline) {
        context_.Add(Severity::kWarning, fmt::format("log zone {} is offline", id.value), id);
      }
      ScanLogZone(context_.device, context_.superblock.seed, zone, info, [&](const ScannedFrame& frame) {
        ++context_.out.frames;
        frames_[FileId(frame.owner)].push_back(frame);
      });
    }
  }

  void CheckLogs() {
    for (const auto& [id, record] : context_.state.files()) {
      if (record->shape != FileShape::kFramed) continue;
      const ReplayedLog log = ReplayLog(*record, context_.state.epoch(), std::move(frames_[id]));
      for (const std::string& damage : log.damage) context_.Add(Severity::kError, damage);
      for (const auto& [zone, bytes] : log.zones) {
        log_live_[zone] += bytes;
        context_.out.bytes_live += bytes;
      }
      if (log.open_window) {
        context_.Add(
            Severity::kNote,
            fmt::format(
                "file {}: {} bytes of its log are not sealed yet; the next read-write mount does that",
                id.value, log.open_window->end - record->size));
      }
    }
  }

  void CheckZones() {
    std::set<ZoneId> holds_extents;
    const Geometry& geometry = context_.device.geometry();
    for (const auto& [id, record] : context_.state.files()) {
      for (const Extent& extent : record->extents) holds_extents.insert(geometry.ZoneOf(extent.place));
    }
    std::uint32_t active = 0;
    for (const ZoneInfo& zone : context_.report) {
      active += IsActive(zone.condition) ? 1 : 0;
      const bool metadata = std::ranges::find(context_.superblock.metadata_zones, zone.id) !=
                            context_.superblock.metadata_zones.end();
      if (metadata || zone.WrittenBytes() == 0 || holds_extents.contains(zone.id)) continue;
      if (context_.state.log_zones().contains(zone.id)) {
        if (log_live_[zone.id] == 0) {
          context_.Add(Severity::kNote, fmt::format("log zone {} holds no live frame", zone.id.value),
                       zone.id);
        }
        continue;
      }
      context_.Add(
          Severity::kNote,
          fmt::format("zone {} holds {} KiB that no file points to; the next read-write mount resets it",
                      zone.id.value, zone.WrittenBytes() / 1024),
          zone.id);
    }
    if (geometry.max_active != 0 && active > geometry.max_active) {
      context_.Add(Severity::kWarning,
                   fmt::format("{} zones are active, the device's limit is {}", active, geometry.max_active));
    }
  }

  void ReadData() {
    std::uint64_t total = 0;
    for (const auto& [id, record] : context_.state.files()) total += record->ExtentsEnd();
    std::uint64_t done = 0;
    AlignedBuffer buffer(kReadBytes);
    for (const auto& [id, record] : context_.state.files()) {
      for (const Extent& extent : record->extents) {
        ReadExtent(id, extent, buffer);
        done += extent.length;
        if (options_.progress) options_.progress(done, total);
      }
    }
  }

  void ReadExtent(FileId file, const Extent& extent, AlignedBuffer& buffer) {
    const std::uint64_t length = RoundUp(extent.length, context_.device.geometry().block_size);
    for (std::uint64_t at = 0; at < length; at += buffer.size()) {
      buffer.Resize(std::min(kReadBytes, length - at));
      const Status read = context_.device.Read(extent.place + at, buffer.Span());
      if (read) continue;
      context_.Add(Severity::kError,
                   fmt::format("file {}: bytes from {} can't be read: {}", file.value,
                               extent.file_offset + at, read.error().ToString()),
                   context_.device.geometry().ZoneOf(extent.place), extent.place + at);
    }
  }

  CheckContext context_;
  const CheckOptions& options_;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames_;
  std::map<ZoneId, std::uint64_t> log_live_;
};

}  // namespace

bool CheckReport::clean() const {
  return std::ranges::none_of(findings, [](const Finding& f) { return f.severity == Severity::kError; });
}

Result<CheckReport> CheckVolume(ZonedDevice& device, const CheckOptions& options) {
  const std::unique_ptr<ZonedDevice> view = MakeReadOnlyView(device);
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(*view));
  CheckReport out;
  const Result<std::unique_ptr<Metalog>> metalog = Metalog::Open(*view, superblock);
  if (!metalog) {
    out.findings.push_back({Severity::kError, metalog.error().ToString(), std::nullopt, std::nullopt});
    return out;
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         view->Report(ZoneId(0), view->geometry().zone_count));
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan, PlanSlots(view->geometry()));
  if (const Status health = (*metalog)->health(); !health) {
    out.findings.push_back({Severity::kError, health.error().ToString(), std::nullopt, std::nullopt});
  }
  Check(*view, superblock, (*metalog)->recovered(), report, options, out).Run(plan.log_carries_data);
  return out;
}

}  // namespace zenfs
