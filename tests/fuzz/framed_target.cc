// Framed files: scans log zones and replays the files from the frames. The input is a script of
// commits (which files exist and which zones are allocated) and of the contents of the log zones.
#include <tuple>

#include "framed_log.h"
#include "input.h"
#include "wal/wal_recovery.h"

namespace zenfs {
namespace {

using FramesByFile = std::map<FileId, std::vector<ScannedFrame>>;

std::vector<ZoneInfo> ReportAll(ImageDevice& device) {
  auto report = device.Report(ZoneId(0), kLogZones);
  Require(report.has_value(), "a report succeeds");
  return *std::move(report);
}

FramesByFile Scan(ImageDevice& device, const State& state, std::span<const ZoneInfo> report) {
  FramesByFile frames;
  for (const auto& [id, zone] : state.log_zones()) {
    if (id.value >= kLogZones) continue;
    const std::uint64_t written = report[id.value].WrittenBytes();
    std::uint64_t last = 0;
    const std::uint64_t end =
        ScanLogZone(device, FramedVolume(), zone, report[id.value], [&](const ScannedFrame& f) {
          const std::uint64_t at = f.payload - report[id.value].start;
          Require(at >= last && at + f.length <= written, "a frame lies in what is written of its zone");
          last = at + f.length;
          frames[FileId(f.owner)].push_back(f);
        });
    Require(end <= written && end >= last, "a scan ends behind the last frame");
    Require(ScanLogZone(
                device, FramedVolume(), zone, report[id.value],
                [](const ScannedFrame&) { Require(false, "a scan that goes on finds nothing twice"); },
                end) == end,
            "a scan goes on where it ended");
  }
  return frames;
}

void CheckLog(const FileRecord& record, const ReplayedLog& log) {
  std::uint64_t at = 0;
  for (const Piece& piece : log.index.pieces()) {
    Require(piece.file_offset == at && piece.length != 0, "a file has no gap");
    Require(piece.end() > piece.file_offset, "a piece does not end before it begins");
    at = piece.end();
    if (piece.sequence == 0 || piece.damaged) continue;
    Require(piece.place.value + piece.length <= FramedGeometry().zone_size * kLogZones,
            "a frame is on the device");
  }
  Require(at == log.index.end(), "a file ends with its last piece");
  if (!log.open_window) return;
  Require(log.open_window->first_sequence == record.next_sequence &&
              log.open_window->last_sequence >= log.open_window->first_sequence,
          "the open window begins where the last one ended");
  Require(log.open_window->end == log.index.end(), "the open window ends with the file");
}

// The live frames of the epoch, sorted by sequence and place.
std::vector<ScannedFrame> ByNumber(std::vector<ScannedFrame> frames, std::uint64_t epoch) {
  std::erase_if(frames, [&](const ScannedFrame& f) { return f.epoch != epoch || !IsPossible(f); });
  std::ranges::sort(frames, {}, [](const ScannedFrame& f) { return std::tuple(f.sequence, f.file_offset); });
  return frames;
}

// True if the frames have their file offsets in the order of their sequences. Writers make no
// others. In others, a seal may change which of two contradicting frames counts.
bool AreInOrder(const std::vector<ScannedFrame>& frames) {
  return std::ranges::is_sorted(frames, {}, &ScannedFrame::file_offset);
}

// True if no frames overlap. A writer that splits bytes again leaves overlapping frames with equal
// bytes. A seal may change from which of them the bytes are read.
bool AreApart(const std::vector<ScannedFrame>& frames) {
  return std::ranges::adjacent_find(frames, [](const ScannedFrame& a, const ScannedFrame& b) {
           return a.file_offset + a.length > b.file_offset;
         }) == frames.end();
}

// Seals the tail of a log as a mount does; the file must not change by that.
void CheckSeal(State state, const FileRecord& record, const ReplayedLog& log,
               std::vector<ScannedFrame> frames) {
  const std::vector<ScannedFrame> current = ByNumber(frames, state.epoch());
  if (!log.open_window || !AreInOrder(current)) return;
  SealLog seal{.id = record.id,
               .windows = record.windows,
               .next_sequence = log.open_window->last_sequence + 1,
               .size = log.open_window->end,
               .mtime_seconds = record.mtime_seconds};
  seal.windows.push_back(*log.open_window);
  std::erase_if(frames, [&](const ScannedFrame& f) { return f.epoch > state.epoch(); });  // not written yet
  const std::vector<Edit> edits{seal, BeginEpoch{state.epoch() + 1}};
  Require(state.Apply(edits).ok(), "a tail can be sealed");
  const ReplayedLog sealed = ReplayLog(*state.FindFile(record.id), state.epoch(), frames);
  Require(!sealed.open_window, "a sealed log has no tail");
  Require(sealed.index.end() == log.index.end(), "sealing keeps the length");
  if (!AreApart(current)) return;
  std::vector<std::uint64_t> ends[2];
  for (const Piece& piece : log.index.pieces()) ends[0].push_back(piece.damaged ? 0 : piece.place.value);
  for (const Piece& piece : sealed.index.pieces()) ends[1].push_back(piece.damaged ? 0 : piece.place.value);
  Require(ends[0] == ends[1], "sealing keeps the bytes where they are");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  static ImageDevice device(FramedGeometry());
  FuzzInput input(std::as_bytes(std::span(data, size)));
  State state;
  ImageDevice::Image image;
  image.zones.resize(kLogZones);
  RunZoneScript(FramedScript(state), input, image);
  device.Load(image);
  const std::vector<ZoneInfo> report = ReportAll(device);
  const FramesByFile frames = Scan(device, state, report);
  for (const auto& [id, record] : state.files()) {
    if (record->shape != FileShape::kFramed) continue;
    const auto own = frames.find(id);
    const std::vector<ScannedFrame> none;
    const std::vector<ScannedFrame>& found = own == frames.end() ? none : own->second;
    const ReplayedLog log = ReplayLog(*record, state.epoch(), found);
    CheckLog(*record, log);
    CheckSeal(state, *record, log, found);
  }
  return 0;
}
