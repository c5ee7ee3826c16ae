// Append buffers in shared memory, over the life of a mount: what a dead process left is brought to the device before
// the logs are sealed; the next epoch gets buffers of its own; at the end they are emptied and forgotten.
//
//   old buffers open -> the extents that they name committed -> new buffers made -> a commit, so that zones may be reset
//     -> the old bytes written as frames of the old epoch -> one commit: flush, seals, new epoch, place of the new buffers -> old buffers removed
//
// Killed before the second commit, the next mount finds the old buffers again and brings back what is still missing;
// killed behind it, it finds the new ones.
#include <fmt/format.h>

#include <algorithm>

#include "format/frame_time.h"
#include "staging/staging_place.h"
#include "volume/file_names.h"
#include "volume/places.h"
#include "volume/volume_core.h"
#include "volume/waiting_bytes.h"

namespace zenfs {

Status VolumeCore::OpenLeft(const State& state) {
  const WhoseBuffers whose = BuffersOf(state, superblock_.uuid, *device_);
  buffer_owners_ = whose.owners;
  Result<LeftBehind> left = OpenLeftBehind(whose);
  if (!left && !options_.discard_unsynced) return Fail(left.error().With(device_name_));
  if (!left) {
    notices_.push_back(
        fmt::format("what was flushed and not synced was given up: {}", left.error().ToString()));
    return {};
  }
  if (options_.discard_unsynced) {
    if (!left->pieces.empty())
      notices_.push_back("what was flushed and not synced was given up, as asked for");
    left->pieces.clear();
  }
  if (!left->notice.empty()) notices_.push_back(left->notice);
  left_ = *std::move(left);
  return {};
}

namespace {

// What is taken from a file that others could write must not lie where frames are.
Status CheckNotInLogZones(std::span<const Edit> edits, const State& state, const Geometry& geometry) {
  for (const Edit& edit : edits) {
    for (const Extent& extent : std::get<SetExtents>(edit).extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      if (!state.log_zones().contains(zone)) continue;
      return Fail(Code::kCorruption, fmt::format("an extent at device byte {} lies in log zone {}",
                                                 extent.place.value, zone.value));
    }
  }
  return {};
}

}  // namespace

// A dead process had written them and told its buffers where. They are committed before anything else, so that all of the
// mount finds them: in the state that is returned, if there are any.
Result<std::optional<State>> VolumeCore::CommitLeftExtents(const State& state, const KnownZones& zones) {
  std::vector<Edit> edits;
  for (const LeftBytes& piece : left_.pieces) {
    const auto record = piece.uncommitted ? state.FindFile(piece.owner) : nullptr;
    if (record == nullptr || record->shape != FileShape::kPlain || piece.end() <= record->size) continue;
    const auto is_there = [&](const Extent& extent) {
      return StandsOnDevice(*device_, zones.report, extent);
    };
    // Else the device has lost some, and who brings back the bytes behind them says so.
    if (std::ranges::all_of(piece.uncommitted->extents, is_there)) edits.emplace_back(*piece.uncommitted);
  }
  if (edits.empty()) return std::nullopt;
  State extended = state;
  Status sound = extended.Apply(edits);
  if (sound.ok()) sound = CheckPlaces(extended, zones, device_name_);
  if (sound.ok()) sound = CheckNotInLogZones(edits, state, geometry_);
  if (const auto flaws = sound.ok() ? extended.Flaws() : std::vector<StateFlaw>(); !flaws.empty()) {
    sound = Fail(Code::kCorruption, flaws.front().text);
  }
  if (!sound.ok()) {
    return Fail(
        sound.error().With(fmt::format("{}: extents that were flushed and not synced, from {} (mount with "
                                       "discard_unsynced to give them up)",
                                       device_name_, left_.memory.path())));
  }
  ZENFS_RETURN_IF_ERROR(metalog_->Commit(std::move(edits), {.data_since = FlushMark::AtOpen()}));
  return extended;
}

// Their bytes are written as frames, as those of logs are: the log has room when data has none, and one commit makes
// them part of the file, which is framed from then on. A mount that was killed before it may have written some already.
std::set<FileId> VolumeCore::PlainFilesToBringBack(const State& state) const {
  std::set<FileId> files;
  for (const LeftBytes& piece : left_.pieces) {
    const auto record = state.FindFile(piece.owner);
    if (record == nullptr || record->shape != FileShape::kPlain) continue;
    if (piece.end() > record->size) files.insert(piece.owner);
  }
  return files;
}

Status VolumeCore::BringBack(const State& state, std::unordered_map<FileId, ReplayedLog>& replayed) {
  if (left_.pieces.empty()) return {};
  // If no log zone has room, dead ones must make some: mounts that die young never come to release any. Resets may
  // start behind a commit; what is live is not counted yet, so it is pinned.
  for (const auto& [id, log] : replayed) {
    for (const auto& [zone, bytes] : log.zones) left_pins_.push_back(zones_->Pin(zone));
  }
  ZENFS_RETURN_IF_ERROR(Commit({RaiseCounters{0, state.next_generation()}}));
  ZENFS_RETURN_IF_ERROR(zones_->Start());
  log_->MayRelease();
  ZENFS_RETURN_IF_ERROR(reclaimer_->Start());  // there may be no room without it
  for (const LeftBytes& piece : left_.pieces) {
    const auto log = replayed.find(piece.owner);
    if (log == replayed.end())
      continue;  // deleted, or never made durable, so never flushed; or committed since
    const Status brought = BringBackOne(state, piece, log->second);
    if (!brought.ok()) {
      return Fail(brought.error().With(
          fmt::format("{}: bringing back what was flushed and not synced, from {} (mount with "
                      "discard_unsynced to give it up)",
                      device_name_, left_.memory.path())));
    }
  }
  return {};
}

Status VolumeCore::BringBackOne(const State& state, const LeftBytes& piece, ReplayedLog& log) {
  const std::uint64_t have = log.index.end();
  if (piece.end() <= have) return {};  // reached the device before the process died
  if (piece.file_offset > have) {      // the device had them in its cache, and lost power
    notices_.push_back(
        fmt::format("{}: bytes {} to {} were flushed and not synced, and the device has lost them; with "
                    "them go {} bytes that came behind",
                    FileNames(state).Describe(piece.owner), have, piece.file_offset, piece.bytes.size()));
    return {};
  }
  const ByteView bytes = piece.bytes.subspan(have - piece.file_offset);
  AlignedBuffer frame(RoundUp(kFrameHeaderBytes + bytes.size(), geometry_.block_size));
  frame.Resize(kFrameHeaderBytes);
  frame.Append(bytes);
  LogWindow window =
      log.open_window.value_or(LogWindow{.epoch = state.epoch(),
                                         .first_sequence = state.FindFile(piece.owner)->next_sequence,
                                         .last_sequence = 0,
                                         .end = have});
  const std::uint64_t sequence = log.open_window ? window.last_sequence + 1 : window.first_sequence;
  const std::uint16_t time =
      piece.appended_seconds == 0 ? 0 : EncodeFrameTime(piece.appended_seconds, log.mtime_seconds);
  ZENFS_ASSIGN_OR_RETURN(std::vector<PlacedFrame> placed, log_->writer().Write({.owner = piece.owner.value,
                                                                                .sequence = sequence,
                                                                                .file_offset = have,
                                                                                .buffer = &frame,
                                                                                .epoch = state.epoch(),
                                                                                .time = time}));
  for (PlacedFrame& part : placed) {
    const ZoneId zone = part.pin.zone();
    log.index.Append(part.ToPiece());
    log.zones[zone] += part.device_bytes;
    // Its file will count it, with all that was found.
    log_->zones().RemoveLive(zone, {part.device_bytes, part.length});
    left_pins_.push_back(std::move(part.pin));
    window.last_sequence = part.sequence;
  }
  window.end = log.index.end();
  log.open_window = window;
  log.mtime_seconds = DecodeFrameTime(time, log.mtime_seconds).value_or(log.mtime_seconds);
  return {};
}

Status VolumeCore::MakeStaging() {
  const std::string& asked = options_.flush_directory;
  if (asked == "none" || device_->identity().empty()) return {};
  const std::string directory = asked == "auto" ? DefaultSharedMemoryDirectory() : asked;
  if (directory.empty()) {
    notices_.push_back(
        "no tmpfs for append buffers (looked at /dev/shm, $XDG_RUNTIME_DIR and /run): each flush is a "
        "write to the device");
    return {};
  }
  StagingArea::Options options{.directory = directory,
                               .identity = device_->identity(),
                               .volume = superblock_.uuid,
                               .epoch = epoch_ + 1,
                               .slots = options_.append_buffers,
                               .metrics_bytes = kMetricsPageBytes};
  Result<std::shared_ptr<StagingArea>> made = StagingArea::Create(options);
  if (!made) {
    // Full is a state that passes; anything else, in a directory that somebody named, is a mistake to be told.
    if (asked != "auto" && made.error().code() != Code::kNoSpace) {
      return Fail(made.error().With(fmt::format("{}: option flush_dir", device_name_)));
    }
    notices_.push_back(
        fmt::format("no append buffers in shared memory, each flush is a write to the device: {}",
                    made.error().ToString()));
    options.slots = 0;  // there may be room for the metrics at least
    made = StagingArea::Create(options);
  }
  if (!made) return {};
  staging_ = *std::move(made);
  metrics_.MoveTo(staging_->metrics());
  return {};
}

// What is removed here is known to be on the device, durably.
void VolumeCore::ForgetLeft() {
  left_pins_.clear();
  if (left_.memory.valid()) IgnoreError(left_.memory.Unlink());  // swept by a later mount then
  left_ = LeftBehind();
  if (staging_ == nullptr) return;
  const std::string directory = staging_->path().substr(0, staging_->path().rfind('/'));
  SweepLeftBehind(directory, device_->identity(), staging_->path(), buffer_owners_);
}

Status VolumeCore::WriteOutFlushed() {
  Status first;  // all are tried: a file that can still be written must not wait for one that can't
  for (const std::shared_ptr<OpenFile>& file : AllOpen()) {
    const bool waits = file->plain && file->plain->HasFlushedBytes();
    first.Update(waits ? SyncPlain(*file) : Status());
    Release(*file);
  }
  if (first.ok() && staging_ != nullptr && staging_->HasGivenUp()) {
    first = Fail(Code::kIo,
                 fmt::format("{}: bytes that were flushed could not be written when their files were closed; "
                             "they stay in {} for the next mount",
                             device_name_, staging_->path()));
  }
  for (const std::shared_ptr<FramedFile>& file : logs_.All()) {
    first.Update(file->WriteOut());
  }
  return first;
}

Status VolumeCore::EndStaging() {
  ZENFS_RETURN_IF_ERROR(WriteOutFlushed());
  ZENFS_RETURN_IF_ERROR(Commit({SetBufferPlace{""}}));
  return staging_->Remove();
}

Status VolumeCore::PrepareForExit() {
  const Result<Gate::Entry> entry = Enter(false);
  if (!entry) return {};
  Status first;
  if (staging_ != nullptr && staging_->Retire()) first = EndStaging();
  const Status kept = KeepMetrics();
  return first.ok() ? kept : first;
}

std::string VolumeCore::shared_memory_path() const { return staging_ == nullptr ? "" : staging_->path(); }

}  // namespace zenfs
