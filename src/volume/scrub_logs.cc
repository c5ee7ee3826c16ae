#include "volume/scrub_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "device/remembered_holes.h"
#include "volume/invalid_blocks.h"
#include "wal/log_replay.h"
#include "wal/log_scan.h"

namespace zenfs {
namespace {

class LogScrub {
 public:
  LogScrub(ScrubContext& context, const State& state, const FileNames& names)
      : context_(context), state_(state), names_(names), device_(context.device) {}

  void Scan(const LogZone& zone, const ZoneInfo& info) {
    ScanLogZone(
        device_, context_.superblock.seed, zone, info,
        [&](const ScannedFrame& frame) {
          ++context_.out.log_frames;
          invalid_.SeeFrame();
          if (IsLog(FileId(frame.owner))) frames_[FileId(frame.owner)].push_back(frame);
        },
        0,
        [&](std::uint64_t at, const ParsedFrame& frame) {
          const bool like_a_frame =
              frame.verdict == FrameVerdict::kDamaged && frame.header.kind == FrameKind::kLogData;
          if (like_a_frame && IsLog(FileId(frame.header.owner))) {
            invalid_.Add({zone.zone, at}, frame.header);
          } else {
            invalid_.Add({zone.zone, at});
          }
        });
    context_.advance(info.WrittenBytes());
  }

  void Judge(const FileRecord& record) {
    const ReplayedLog log = ReplayLog(record, state_.epoch(), std::move(frames_[record.id]));
    for (const auto& [zone, bytes] : log.zones) context_.out.log_bytes += bytes;
    const Piece* before = nullptr;
    for (const Piece& piece : log.index.pieces()) {
      if (piece.damaged)
        context_.out.findings.Add(Severity::kError, [&] { return Lost(record, piece, before); });
      if (!piece.damaged && piece.sequence != 0) before = &piece;
    }
  }

 private:
  bool IsLog(FileId id) const {
    const auto file = state_.FindFile(id);
    return file != nullptr && file->shape == FileShape::kFramed;
  }

  Finding Lost(const FileRecord& record, const Piece& lost, const Piece* before) const {
    FileNames::Paths paths = names_.PathsOf(record.id);
    Finding finding{
        .severity = Severity::kError,
        .text = fmt::format("{}: bytes {} to {} are lost: frame {} of its log is missing or damaged",
                            names_.Describe(record.id), lost.file_offset, lost.end(), lost.sequence),
        .paths = std::move(paths.whole),
        .more_paths = paths.others};
    std::optional<InvalidBlocks::Place> place = invalid_.Claiming(record.id, lost.file_offset, lost.end());
    const bool sure = place.has_value();
    if (!sure) place = Behind(before);
    if (place) {
      finding.zone = place->zone;
      finding.offset = context_.device.geometry().ZoneStart(place->zone) + place->at;
      finding.text +=
          fmt::format(", {} zone {} at byte {}", sure ? "in" : "probably in", place->zone.value, place->at);
    }
    return finding;
  }

  // The frames of a file are written in order, so the lost one is probably the first invalid block after `before`.
  std::optional<InvalidBlocks::Place> Behind(const Piece* before) const {
    std::optional<InvalidBlocks::Place> place;
    if (before != nullptr) {
      const Geometry& geometry = context_.device.geometry();
      const ZoneId zone = geometry.ZoneOf(before->place);
      place = invalid_.Behind({zone, before->place - geometry.ZoneStart(zone)});
    }
    return place ? place : invalid_.First();
  }

  ScrubContext& context_;
  const State& state_;
  const FileNames& names_;
  RememberedHoles device_;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames_;
  InvalidBlocks invalid_;
};

}  // namespace

void ScrubLogs(ScrubContext& context, const State& state, const FileNames& names,
               std::span<const ZoneInfo> report) {
  LogScrub scrub(context, state, names);
  for (const auto& [id, zone] : state.log_zones()) {
    if (id.value < report.size()) scrub.Scan(zone, report[id.value]);
  }
  std::vector<const FileRecord*> framed;
  for (const auto& [id, record] : state.files()) {
    if (record->shape == FileShape::kFramed) framed.push_back(record.get());
  }
  std::ranges::sort(framed, {}, [](const FileRecord* record) { return record->id; });
  for (const FileRecord* record : framed) scrub.Judge(*record);
}

}  // namespace zenfs
