#include "volume/scrub_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;
// How often a file is read anew because it was changed meanwhile.
constexpr int kTries = 8;

}  // namespace

FileScrub::FileScrub(ScrubContext& context, FindNow find_now)
    : context_(context), find_now_(std::move(find_now)), buffer_(kReadBytes) {}

void FileScrub::File(std::shared_ptr<const FileRecord> record, const FilePaths& paths) {
  ScrubReport& out = context_.out;
  for (int tries = 0; record != nullptr; ++tries) {
    const Outcome outcome = Read(*record, paths);
    SyncPoint::Reach("FileScrub:read");
    const std::shared_ptr<const FileRecord> now = outcome.findings.empty() ? record : find_now_(record->id);
    const bool same = now != nullptr && (now == record || *now == *record);
    if (same || (now != nullptr && tries == kTries)) {
      ++out.files;
      out.extents += record->extents.size();
      out.extent_bytes += record->ExtentsEnd();
      out.extents_without_checksum += outcome.extents_without_checksum;
      out.bytes_without_checksum += outcome.bytes_without_checksum;
    }
    if (same) {
      out.findings.insert(out.findings.end(), outcome.findings.begin(), outcome.findings.end());
      return;
    }
    if (now != nullptr && tries == kTries) {
      out.findings.push_back({.severity = Severity::kNote,
                              .text = fmt::format("{}: was changed under each of {} tries to read it",
                                                  paths.Describe(record->id), kTries),
                              .zone = std::nullopt,
                              .offset = std::nullopt,
                              .paths = paths.Of(record->id)});
      return;
    }
    record = now;
  }
}

FileScrub::Outcome FileScrub::Read(const FileRecord& record, const FilePaths& paths) {
  Outcome outcome;
  for (const Extent& extent : record.extents) {
    ReadExtent(record, extent, paths, outcome);
    if (extent.crc) continue;
    ++outcome.extents_without_checksum;
    outcome.bytes_without_checksum += extent.length;
  }
  return outcome;
}

void FileScrub::ReadExtent(const FileRecord& record, const Extent& extent, const FilePaths& paths,
                           Outcome& outcome) {
  std::uint32_t crc = 0;
  bool all_read = true;
  const std::uint64_t length = RoundUp(extent.length, context_.device.geometry().block_size);
  for (std::uint64_t at = 0; at < length; at += buffer_.size()) {
    buffer_.Resize(std::min(kReadBytes, length - at));
    if (context_.device.Read(extent.place + at, buffer_.Span())) {
      crc = Crc32c(buffer_.View(0, std::min<std::uint64_t>(buffer_.size(), extent.length - at)), crc);
    } else {
      all_read = false;
      NameUnreadable(record, extent, at, paths, outcome);
    }
    context_.advance(buffer_.size());
  }
  if (!all_read || !extent.crc || *extent.crc == crc) return;
  Add(record, extent.place, extent.file_offset, extent.end(),
      "do not have the checksum with which they were written", paths, outcome);
}

void FileScrub::NameUnreadable(const FileRecord& record, const Extent& extent, std::uint64_t at,
                               const FilePaths& paths, Outcome& outcome) {
  const std::uint32_t block = context_.device.geometry().block_size;
  for (std::uint64_t done = 0; done < buffer_.size(); done += block) {
    const Status read = context_.device.Read(extent.place + at + done, buffer_.Span().subspan(done, block));
    if (read) continue;
    const std::uint64_t from = extent.file_offset + at + done;
    Add(record, extent.place + at + done, from, std::min(from + block, extent.end()),
        fmt::format("can't be read ({})", read.error().ToString()), paths, outcome);
  }
}

void FileScrub::Add(const FileRecord& record, DeviceOffset place, std::uint64_t from, std::uint64_t to,
                    const std::string& what, const FilePaths& paths, Outcome& outcome) const {
  const Geometry& geometry = context_.device.geometry();
  const ZoneId zone = geometry.ZoneOf(place);
  outcome.findings.push_back(
      {.severity = Severity::kError,
       .text = fmt::format("{}: bytes {} to {} {}; they stand in zone {} from byte {} on",
                           paths.Describe(record.id), from, to, what, zone.value,
                           place - geometry.ZoneStart(zone)),
       .zone = zone,
       .offset = place,
       .paths = paths.Of(record.id)});
}

}  // namespace zenfs
