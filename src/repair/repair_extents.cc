#include "repair/repair_extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/zeros.h"
#include "device/remembered_holes.h"
#include "format/frame.h"
#include "repair/repair_names.h"
#include "volume/fsck/places.h"

namespace zenfs {
namespace {

class ExtentRepairer {
 public:
  ExtentRepairer(StateDraft& draft, const ExtentRules& rules, const FileNames& names, Sentences& steps)
      : draft_(draft), rules_(rules), names_(names), steps_(steps) {}

  void Run() {
    DropFalseLogZones();
    std::vector<FileId> newest_first;
    for (const auto& [id, file] : draft_.files) newest_first.push_back(id);
    std::ranges::reverse(newest_first);
    for (const FileId id : newest_first) RepairFile(id);
  }

 private:
  void DropFalseLogZones() {
    for (auto it = draft_.log_zones.begin(); it != draft_.log_zones.end();) {
      const ZoneId zone = it->first;
      if (CanBeLogZone(zone, rules_.report, rules_.metadata_zones)) {
        ++it;
        continue;
      }
      steps_.Add(fmt::format("remove zone {} from the log zones: it cannot be one", zone.value));
      it = draft_.log_zones.erase(it);
    }
  }

  bool IsMetadata(ZoneId zone) const {
    return std::ranges::find(rules_.metadata_zones, zone) != rules_.metadata_zones.end();
  }

  // Why the extent is invalid, and how many of its bytes are usable. No fault: the extent is valid.
  struct Fault {
    std::function<std::string()> why;  // a function, because most texts are not shown
    std::uint64_t usable = 0;
  };
  static Fault Because(const char* why) {
    return {[why] { return why; }};
  }
  std::optional<Fault> FaultOf(const Extent& extent, std::uint64_t expected_offset) const {
    if (extent.file_offset != expected_offset)
      return Fault{[=] { return fmt::format("its bytes from {} on are in no extent", expected_offset); }};
    if (extent.length == 0 || extent.place.value >= rules_.geometry.size_bytes())
      return Because("it lies beyond the end of the device");
    if (!IsMultiple(extent.place.value, rules_.geometry.block_size))
      return Because("it does not begin on a block boundary");
    const ZoneId id = rules_.geometry.ZoneOf(extent.place);
    const ZoneInfo& zone = rules_.report[id.value];
    if (zone.type == ZoneType::kConventional || IsMetadata(id))
      return Fault{[=] { return fmt::format("zone {} holds no file data", id.value); }};
    if (draft_.log_zones.contains(id))
      return Fault{[=] { return fmt::format("zone {} is a log zone", id.value); }};
    const std::uint64_t limit =
        zone.condition == ZoneCondition::kOffline ? zone.capacity : zone.WrittenBytes();
    const std::uint64_t at = extent.place - zone.start;
    if (at + extent.length <= limit) return Overlap(extent);
    Fault fault{[=] { return fmt::format("zone {} was written up to byte {} only", id.value, limit); },
                limit > at ? limit - at : 0};
    if (fault.usable == 0) return fault;
    Extent written = extent;
    written.length = fault.usable;
    std::optional<Fault> overlap = Overlap(written);
    return overlap ? overlap : fault;
  }

  std::optional<Fault> Overlap(const Extent& extent) const {
    const std::uint64_t begin = extent.place.value;
    const std::uint64_t end = RoundUp(begin + extent.length, rules_.geometry.block_size);
    auto next = taken_.lower_bound(begin);
    if (next != taken_.begin() && std::prev(next)->second.end > begin) --next;
    if (next == taken_.end() || next->first >= end) return std::nullopt;
    const auto why = [this, from = std::max(begin, next->first), owner = next->second.owner] {
      return fmt::format("device byte {} belongs to {}, which is newer", from, names_.Describe(owner));
    };
    return Fault{why, next->first > begin ? next->first - begin : 0};
  }

  void Claim(const Extent& extent, FileId owner) {
    taken_[extent.place.value] = {RoundUp(extent.place.value + extent.length, rules_.geometry.block_size),
                                  owner};
  }

  void RepairFile(FileId id) {
    FileRecord& file = draft_.files.at(id);
    std::vector<Extent> kept;
    std::uint64_t end = 0;
    std::size_t i = 0;
    std::optional<Fault> fault;
    for (; i < file.extents.size(); ++i) {
      const Extent& extent = file.extents[i];
      fault = FaultOf(extent, end);
      if (fault) break;
      Claim(extent, id);
      kept.push_back(extent);
      end = extent.end();
    }
    if (fault) {
      bool cut = false;
      const std::uint64_t whole = RoundDown(fault->usable, rules_.geometry.block_size);
      const Extent broken = file.extents[i];
      if (whole != 0 && broken.file_offset == end) {
        kept.push_back({.file_offset = end, .place = broken.place, .length = std::min(whole, broken.length)});
        Claim(kept.back(), id);
        end = kept.back().end();
        cut = true;
      }
      steps_.Add([&] {
        return fmt::format("end {} at byte {}: {}{}", names_.Describe(id), end, fault->why(),
                           PlaceText(broken));
      });
      const std::vector<Extent> behind(file.extents.begin() + static_cast<std::ptrdiff_t>(i) + (cut ? 1 : 0),
                                       file.extents.end());
      file.extents = std::move(kept);
      FitSize(file);
      Rescue(id, file.lifetime, behind);
      return;
    }
    const std::uint64_t said = file.size;
    FitSize(file);
    if (file.size != said) {
      steps_.Add([&] {
        return fmt::format("set the size of {} to the {} bytes that it has; the recorded size was {}",
                           names_.Describe(id), file.size, said);
      });
    }
  }

  std::string PlaceText(const Extent& extent) const {
    return fmt::format(" (its extent at file offset {} is recorded in zone {}, device byte {})",
                       extent.file_offset, extent.place.value / rules_.geometry.zone_size,
                       extent.place.value);
  }

  // Sets the size that the extents and windows give, and drops impossible windows. A plain file has
  // no windows. A window that ends inside the extents holds nothing more. A window may have a later
  // epoch than the draft if the commit that began that epoch is lost; RepairLogs then raises the
  // draft's epoch.
  void FitSize(FileRecord& file) const {
    if (file.shape == FileShape::kPlain) file.windows.clear();
    std::uint64_t end = file.ExtentsEnd();
    std::uint64_t sequence = 0;
    std::uint64_t epoch = 0;
    std::erase_if(file.windows, [&](const LogWindow& window) {
      const bool possible = window.first_sequence > sequence &&
                            window.last_sequence >= window.first_sequence && window.end >= end &&
                            window.epoch >= epoch && window.epoch < kCredibleEnd;
      if (possible) {
        sequence = window.last_sequence;
        epoch = window.epoch;
        end = window.end;
      }
      return !possible;
    });
    file.next_sequence = std::max(file.next_sequence, sequence + 1);
    file.size = end;
  }

  // Puts the valid extents among `extents` into plain files without gaps.
  void Rescue(FileId of, Lifetime lifetime, const std::vector<Extent>& extents) {
    std::vector<Extent> run;
    std::uint64_t from = 0;
    const auto finish = [&] {
      if (run.empty()) return;
      FileRecord rescued{.id = draft_.NewId(), .lifetime = lifetime};
      std::uint64_t end = 0;
      for (const Extent& extent : run) {
        rescued.extents.push_back(extent);
        rescued.extents.back().file_offset = end;
        end += extent.length;
      }
      rescued.size = end;
      const std::string path =
          lost_and_found_.Put(std::move(rescued), fmt::format("file-{}-from-{}", of.value, from));
      steps_.Add([&] {
        return fmt::format("put the {} bytes of {} from byte {} on at {}", end, names_.Describe(of), from,
                           path);
      });
      run.clear();
    };
    for (const Extent& extent : extents) {
      const std::uint64_t expected = run.empty() ? extent.file_offset : run.back().end();
      if (!run.empty() && extent.file_offset != expected) finish();
      if (FaultOf(extent, extent.file_offset)) {
        finish();
        continue;
      }
      if (run.empty()) from = extent.file_offset;
      run.push_back(extent);
      Claim(extent, of);
    }
    finish();
  }

  struct Taken {
    std::uint64_t end = 0;
    FileId owner;
  };
  StateDraft& draft_;
  const ExtentRules& rules_;
  const FileNames& names_;
  Sentences& steps_;
  LostAndFound lost_and_found_{draft_};
  std::map<std::uint64_t, Taken> taken_;  // by device byte
};

}  // namespace

void RepairExtents(StateDraft& draft, const ExtentRules& rules, const FileNames& names, Sentences& steps) {
  ExtentRepairer(draft, rules, names, steps).Run();
}

// --- unreferenced data ---

namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;

struct Range {
  std::uint64_t begin = 0;  // bytes from the start of the zone
  std::uint64_t end = 0;
};

// The parts of the range that are not known zeros.
std::vector<Range> PartsWithData(ZonedDevice& device, const ZoneInfo& zone, Range range) {
  std::vector<Range> parts;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t zeros = device.KnownZeros(zone.start + at, range.end - at);
    const std::uint64_t end = std::min(range.end, at + (zeros != 0 ? zeros : kReadBytes));
    if (zeros == 0 && !parts.empty() && parts.back().end == at) {
      parts.back().end = end;
    } else if (zeros == 0) {
      parts.push_back({at, end});
    }
    at = end;
  }
  return parts;
}

// Returns the end of the last block that is not all zeros, `range.begin` if there is none. A block that can't be read counts as
// not all zeros.
std::uint64_t EndOfData(ZonedDevice& device, const ZoneInfo& zone, Range range) {
  const std::uint32_t block = device.geometry().block_size;
  AlignedBuffer buffer(std::max<std::uint64_t>(kReadBytes, block));
  std::vector<Range> parts = PartsWithData(device, zone, range);
  for (; !parts.empty(); parts.pop_back()) {
    Range part = parts.back();
    while (part.end > part.begin) {
      const std::uint64_t bytes = std::min<std::uint64_t>(buffer.capacity(), part.end - part.begin);
      const std::uint64_t from = part.end - bytes;
      buffer.Resize(bytes);
      if (!device.Read(zone.start + from, buffer.Span()).ok()) return part.end;
      for (std::uint64_t at = bytes; at > 0; at -= block) {
        if (!IsZeros(buffer.View(at - block, block))) return from + at;
      }
      part.end = from;
    }
  }
  return range.begin;
}

std::vector<Range> Uncovered(std::vector<Range> covered, std::uint64_t written) {
  std::ranges::sort(covered, {}, &Range::begin);
  covered.push_back({written, written});
  std::vector<Range> gaps;
  std::uint64_t at = 0;
  for (const Range& range : covered) {
    if (range.begin > at) gaps.push_back({at, range.begin});
    at = std::max(at, range.end);
  }
  return gaps;
}

}  // namespace

void RescueOrphans(StateDraft& draft, ZonedDevice& device, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones, Sentences& steps) {
  const Geometry& geometry = device.geometry();
  std::map<ZoneId, std::vector<Range>> covered;
  for (const auto& [id, file] : draft.files) {
    for (const Extent& extent : file.extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      const std::uint64_t begin = extent.place - geometry.ZoneStart(zone);
      covered[zone].push_back({begin, begin + RoundUp(extent.length, geometry.block_size)});
    }
  }
  RememberedHoles scanned(device);
  LostAndFound lost_and_found(draft);
  for (const ZoneInfo& zone : report) {
    const bool metadata = std::ranges::find(metadata_zones, zone.id) != metadata_zones.end();
    if (zone.type != ZoneType::kSequentialRequired || metadata || draft.log_zones.contains(zone.id)) continue;
    for (const Range& gap :
         Uncovered(covered[zone.id], RoundDown(zone.WrittenBytes(), geometry.block_size))) {
      const std::uint64_t end = EndOfData(scanned, zone, gap);
      if (end == gap.begin) continue;
      const std::uint64_t length = end - gap.begin;
      FileRecord file{.id = draft.NewId(), .size = length, .mtime_seconds = WallSeconds()};
      file.extents.push_back({.file_offset = 0, .place = zone.start + gap.begin, .length = length});
      const std::string path =
          lost_and_found.Put(std::move(file), fmt::format("zone-{}-{}", zone.id.value, gap.begin));
      steps.Add(fmt::format("put {} KiB of zone {} from byte {} on, which no file points to, at {}",
                            length / 1024, zone.id.value, gap.begin, path));
    }
  }
}

}  // namespace zenfs
