#include "volume/scrub_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "device/remembered_holes.h"
#include "wal/log_replay.h"
#include "wal/log_scan.h"

namespace zenfs {
namespace {

// A block of a log zone that is not a valid frame. If it begins like a frame, `header` is its unverified header.
struct Suspect {
  ZoneId zone;
  std::uint64_t at = 0;
  bool like_a_frame = false;
  FrameHeader header;
};

class LogScrub {
 public:
  LogScrub(ScrubContext& context, const FileNames& names)
      : context_(context), names_(names), device_(context.device) {}

  void Scan(const LogZone& zone, const ZoneInfo& info) {
    ScanLogZone(
        device_, context_.superblock.seed, zone, info,
        [&](const ScannedFrame& frame) {
          ++context_.out.log_frames;
          frames_[FileId(frame.owner)].push_back(frame);
        },
        0,
        [&](std::uint64_t at, const ParsedFrame& frame) {
          const bool like_a_frame = frame.verdict == FrameVerdict::kDamaged;
          suspects_.push_back(
              {.zone = zone.zone, .at = at, .like_a_frame = like_a_frame, .header = frame.header});
        });
    context_.advance(info.WrittenBytes());
  }

  void Judge(const FileRecord& record, std::uint64_t epoch) {
    const ReplayedLog log = ReplayLog(record, epoch, std::move(frames_[record.id]));
    for (const auto& [zone, bytes] : log.zones) context_.out.log_bytes += bytes;
    const Piece* before = nullptr;
    for (const Piece& piece : log.index.pieces()) {
      if (piece.damaged) Add(record, piece, before);
      if (!piece.damaged && piece.sequence != 0) before = &piece;
    }
  }

 private:
  void Add(const FileRecord& record, const Piece& lost, const Piece* before) {
    FileNames::Paths paths = names_.PathsOf(record.id);
    Finding finding{
        .severity = Severity::kError,
        .text = fmt::format("{}: bytes {} to {} are lost: frame {} of its log is missing or damaged",
                            names_.Describe(record.id), lost.file_offset, lost.end(), lost.sequence),
        .paths = std::move(paths.whole),
        .more_paths = paths.others};
    bool sure = true;
    const Suspect* place = ByHeader(record.id, lost);
    if (place == nullptr) {
      sure = false;
      place = Behind(before);
    }
    if (place != nullptr) {
      finding.zone = place->zone;
      finding.offset = context_.device.geometry().ZoneStart(place->zone) + place->at;
      finding.text +=
          fmt::format(", {} zone {} at byte {}", sure ? "in" : "probably in", place->zone.value, place->at);
    }
    context_.out.findings.Add(std::move(finding));
  }

  const Suspect* ByHeader(FileId id, const Piece& lost) const {
    const auto it = std::ranges::find_if(suspects_, [&](const Suspect& suspect) {
      return suspect.like_a_frame && suspect.header.kind == FrameKind::kLogData &&
             suspect.header.owner == id.value && suspect.header.file_offset >= lost.file_offset &&
             suspect.header.file_offset < lost.end();
    });
    return it == suspects_.end() ? nullptr : &*it;
  }

  // The frames of a file are written in order, so the lost one is probably the first invalid block after `before`.
  const Suspect* Behind(const Piece* before) const {
    const Geometry& geometry = context_.device.geometry();
    if (before != nullptr) {
      const ZoneId zone = geometry.ZoneOf(before->place);
      const std::uint64_t from = before->place - geometry.ZoneStart(zone);
      for (const Suspect& suspect : suspects_) {
        if (suspect.zone == zone && suspect.at > from) return &suspect;
      }
    }
    return suspects_.empty() ? nullptr : &suspects_.front();
  }

  ScrubContext& context_;
  const FileNames& names_;
  RememberedHoles device_;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames_;
  std::vector<Suspect> suspects_;
};

}  // namespace

void ScrubLogs(ScrubContext& context, const State& state, const FileNames& names,
               std::span<const ZoneInfo> report) {
  LogScrub scrub(context, names);
  for (const auto& [id, zone] : state.log_zones()) {
    if (id.value < report.size()) scrub.Scan(zone, report[id.value]);
  }
  std::vector<const FileRecord*> framed;
  for (const auto& [id, record] : state.files()) {
    if (record->shape == FileShape::kFramed) framed.push_back(record.get());
  }
  std::ranges::sort(framed, {}, [](const FileRecord* record) { return record->id; });
  for (const FileRecord* record : framed) scrub.Judge(*record, state.epoch());
}

}  // namespace zenfs
