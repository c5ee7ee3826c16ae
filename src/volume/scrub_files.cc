#include "volume/scrub_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "base/sync_point.h"
#include "device/presence.h"
#include "volume/places.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kScrubReadBytes = 1 << 20;
// How often a file is read again because it was changed meanwhile.
constexpr int kScrubTries = 8;

}  // namespace

FileScrub::FileScrub(ScrubContext& context, FindNow find_now)
    : context_(context), find_now_(std::move(find_now)), buffer_(kScrubReadBytes) {}

Status FileScrub::File(std::shared_ptr<const FileRecord> record, const FileNames& names) {
  ScrubReport& out = context_.out;
  for (int tries = 0; record != nullptr; ++tries) {
    ZENFS_ASSIGN_OR_RETURN(const Outcome outcome, Read(*record));
    SyncPoint::Reach("FileScrub:read");
    const std::shared_ptr<const FileRecord> now = outcome.damage.empty() ? record : find_now_(record->id);
    const bool same = now != nullptr && (now == record || *now == *record);
    if (same || (now != nullptr && tries == kScrubTries)) {
      ++out.files;
      out.extents += record->extents.size();
      out.extent_bytes += record->ExtentsEnd();
      for (const Extent& extent : record->extents) {
        out.data_bytes += RoundUp(extent.length, context_.device.geometry().block_size);
      }
      out.extents_without_checksum += outcome.extents_without_checksum;
      out.bytes_without_checksum += outcome.bytes_without_checksum;
    }
    if (same) {
      for (const Damage& damage : outcome.damage)
        out.findings.Add(Severity::kError, [&] { return FindingOf(damage, record->id, names); });
      out.findings.AddOmitted(Severity::kError, outcome.omitted);
      return {};
    }
    if (now != nullptr && tries == kScrubTries) {
      out.findings.Add(Severity::kNote, [&] {
        FileNames::Paths paths = names.PathsOf(record->id);
        return Finding{.text = fmt::format("{}: the writer changed it during each of {} tries to read it",
                                           names.Describe(record->id), kScrubTries),
                       .paths = std::move(paths.whole),
                       .more_paths = paths.others};
      });
      return {};
    }
    record = now;
  }
  return {};
}

Result<FileScrub::Outcome> FileScrub::Read(const FileRecord& record) {
  Outcome outcome;
  for (const Extent& extent : record.extents) {
    ZENFS_RETURN_IF_ERROR(ReadExtent(extent, outcome));
    if (extent.crc) continue;
    ++outcome.extents_without_checksum;
    outcome.bytes_without_checksum += extent.length;
  }
  return outcome;
}

Status FileScrub::ReadExtent(const Extent& extent, Outcome& outcome) {
  const Geometry& geometry = context_.device.geometry();
  const auto add = [&outcome](Damage damage) {
    if (outcome.damage.size() == Findings::kKeptAtMost) {
      ++outcome.omitted;
    } else {
      outcome.damage.push_back(std::move(damage));
    }
  };
  if (!LiesInOneZone(extent, geometry)) {
    add({extent.place, extent.file_offset, extent.end(), "have an impossible place on this device"});
    return {};
  }
  const std::uint64_t length = RoundUp(extent.length, geometry.block_size);
  std::uint32_t crc = 0;
  std::vector<Unreadable> unreadable;
  for (std::uint64_t at = 0; at < length; at += buffer_.size()) {
    buffer_.Resize(std::min(kScrubReadBytes, length - at));
    if (context_.device.Read(extent.place + at, buffer_.Span()).ok()) {
      crc = Crc32c(buffer_.View(0, std::min<std::uint64_t>(buffer_.size(), extent.length - at)), crc);
    } else {
      ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(context_.device));
      FindUnreadable(extent, at, unreadable);
    }
    context_.advance(buffer_.size());
  }
  for (const Unreadable& run : unreadable) {
    add({extent.place + run.from, extent.file_offset + run.from,
         extent.file_offset + std::min(run.to, extent.length), fmt::format("can't be read ({})", run.error)});
  }
  if (!unreadable.empty() || crc == extent.crc.value_or(crc)) return {};
  add({extent.place, extent.file_offset, extent.end(), "do not match their checksum"});
  return {};
}

void FileScrub::FindUnreadable(const Extent& extent, std::uint64_t at, std::vector<Unreadable>& runs) {
  const std::uint32_t block = context_.device.geometry().block_size;
  for (const std::uint64_t end = at + buffer_.size(); at < end; at += block) {
    const Status read = context_.device.Read(extent.place + at, buffer_.Span().first(block));
    if (read.ok()) continue;
    if (runs.empty() || runs.back().to != at) runs.push_back({at, at, read.error().ToString()});
    runs.back().to = at + block;
  }
}

Finding FileScrub::FindingOf(const Damage& damage, FileId file, const FileNames& names) const {
  const Geometry& geometry = context_.device.geometry();
  const ZoneId zone = geometry.ZoneOf(damage.place);
  FileNames::Paths paths = names.PathsOf(file);
  return {.text = fmt::format("{}: bytes {} to {} {}; they are in zone {} from byte {} on",
                              names.Describe(file), damage.from, damage.to, damage.what, zone.value,
                              damage.place - geometry.ZoneStart(zone)),
          .zone = zone,
          .offset = damage.place,
          .paths = std::move(paths.whole),
          .more_paths = paths.others};
}

}  // namespace zenfs
