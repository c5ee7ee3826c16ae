#include "wal/framed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checksum_handoff.h"
#include "base/sync_point.h"
#include "wal/frame_read.h"

namespace zenfs {

namespace {

static_assert(kBufferAreaPayloadAt == kFrameHeaderBytes,
              "the frame header is written in front of the buffered bytes, in place");

// Cuts `into` at the end of the file, and copies the bytes from `offset` on that are buffered. Returns the bytes in front of
// them, which must be read from the device. After an error, bytes may be both in the map and in the buffer in flight; they
// come from the buffer.
ByteSpan FillFromBuffers(const FramedFileParts& file, std::uint64_t offset, ByteSpan& into)
    REQUIRES(file.mutex) {
  const std::uint64_t size = file.Size();
  into = into.first(offset >= size ? 0 : std::min<std::uint64_t>(into.size(), size - offset));
  if (into.empty()) return into;
  const std::uint64_t buffered = file.buffers.CopyTo(offset, into, file.map.end());
  return into.first(std::min<std::uint64_t>(into.size(), buffered - std::min(offset, buffered)));
}

// Pins on zones, one for each. They keep the zones from being reset.
class ReadPins {
 public:
  explicit ReadPins(const Geometry& geometry) : geometry_(geometry) {}
  void Add(const FramedFileParts& file, DeviceOffset place) REQUIRES(file.mutex) {
    const ZoneId zone = geometry_.ZoneOf(place);
    if (pins_.empty() || pins_.back().zone() != zone) pins_.push_back(file.zones.PinOf(zone));
  }

 private:
  const Geometry& geometry_;
  std::vector<ZonePin> pins_;
};

// While it exists, other appends to the file wait.
class LongAppend {
 public:
  explicit LongAppend(FramedFileParts& file) REQUIRES(file.mutex) : file_(file) {
    file_.state.BeginLongAppend();
  }
  ~LongAppend() REQUIRES(file_.mutex) {
    file_.state.EndLongAppend();
    file_.turn.NotifyAll();
  }
  LongAppend(const LongAppend&) = delete;
  LongAppend& operator=(const LongAppend&) = delete;

 private:
  FramedFileParts& file_;
};

}  // namespace

FramedFile::FramedFile(const Deps& deps, FileId id)
    : FramedFile(
          deps, FileRecord{.id = id, .extents = {}, .windows = {}},
          ReplayedLog{
              .index = {}, .zones = {}, .open_window = {}, .damage = {}, .mtime_seconds = WallSeconds()}) {}

FramedFile::FramedFile(const Deps& deps, const FileRecord& record, ReplayedLog replayed,
                       FrameBuffers::TakenOver taken_over)
    : device_(*deps.device),
      drain_(deps.drain),
      log_zones_(deps.log == nullptr ? nullptr : &deps.log->zones()),
      id_(record.id),
      sender_(*deps.device, deps.log, record.id),
      block_sync_(*deps.device, deps.log, record.id),
      parts_(FrameMap(record, std::move(replayed.index), deps.epoch, replayed.mtime_seconds),
             FrameBuffers(deps.buffers, deps.buffer_bytes, record.id, std::move(taken_over.first),
                          std::move(taken_over.second)),
             deps.device->geometry(), *deps.zones, deps.log == nullptr ? nullptr : &deps.log->zones(),
             std::max(replayed.mtime_seconds, taken_over.appended_seconds)) {
  parts_.zones.Adopt(replayed.zones, parts_.map.pieces());
  for (const Extent& extent : record.extents) parts_.zones.Pin(extent.place);
}

FramedFile::~FramedFile() {
  MutexLock lock(parts_.mutex);
  // Without an error nobody can ask for the buffered bytes again. After an error they may be the only copy.
  if (parts_.state.sound() || parts_.deleted) parts_.buffers.Clear();
}

std::uint64_t FramedFile::size() const {
  MutexLock lock(parts_.mutex);
  return parts_.Size();
}

std::uint64_t FramedFile::mtime_seconds() const {
  MutexLock lock(parts_.mutex);
  return parts_.mtime_seconds;
}

Status FramedFile::Append(ByteView bytes, KnownCrc crc) {
  if (crc) ZENFS_RETURN_IF_ERROR(CheckHandoff(bytes.size(), Crc32c(bytes), crc));
  MutexLock lock(parts_.mutex);
  FramedFileState& state = parts_.state;
  while (state.appends().ok() && (state.truncating() || state.appending())) {
    SyncPoint::Reach("FramedFile::AwaitOthers");  // with the lock held: a handler only counts
    parts_.turn.Wait(parts_.mutex);
  }
  if (state.appends().ok()) state.CloseAppends(AppendAll(bytes));
  return state.appends();
}

Status FramedFile::AppendAll(ByteView bytes) {
  FramedFileState& state = parts_.state;
  FrameBuffers& buffers = parts_.buffers;
  const std::uint64_t failed_sends = state.failed_sends();
  if (!bytes.empty()) parts_.mtime_seconds = WallSeconds();
  std::optional<LongAppend> alone;  // from the first wait on
  while (!bytes.empty()) {
    if (state.SendFailedSince(failed_sends)) return state.sent();
    const bool repairs = !state.sound() && state.free();  // the error is older than this call
    if (!repairs) {
      // The drain may sleep although bytes are buffered, if all of them are in a sync block.
      if (drain_ != nullptr && (buffers.active().empty() || parts_.StableEnd() >= parts_.Size()))
        drain_->NoteBuffered();
      if (buffers.active().empty()) buffers.Begin(parts_.map.end());
    }
    if (repairs || buffers.active().room() == 0) {
      if (!alone) alone.emplace(parts_);
      if (state.free()) {
        ZENFS_RETURN_IF_ERROR(sender_.Send(parts_, false));
      } else {
        parts_.turn.Wait(parts_.mutex);
      }
      continue;
    }
    bytes = bytes.subspan(buffers.Append(bytes, parts_.mtime_seconds));
    if (drain_ != nullptr && buffers.TakeDrainRequest()) drain_->FlushEarly(id_);
  }
  return {};
}

Status FramedFile::Flush() {
  {
    MutexLock lock(parts_.mutex);
    if (parts_.state.sound() && parts_.buffers.survive_process()) return {};
  }
  return WriteBack();
}

FramedFile::Drained FramedFile::WriteBackOlderThan(SteadyTime before, bool again) {
  {
    MutexLock lock(parts_.mutex);
    if (!parts_.state.sound()) {
      if (parts_.state.sent().error().code() != Code::kNoSpace) return Drained::kAll;
      if (!again) return Drained::kNoRoom;
    } else {
      if (parts_.buffers.active().empty()) return Drained::kAll;
      if (parts_.StableEnd() >= parts_.Size()) return Drained::kAll;  // in a sync block
      if (parts_.buffers.active_since() > before) return Drained::kYounger;
    }
  }
  const Status written = WriteBack();
  return !written.ok() && written.error().code() == Code::kNoSpace ? Drained::kNoRoom : Drained::kAll;
}

void FramedFile::EndWriting() {
  MutexLock lock(parts_.mutex);
  // Bytes in the active buffer: a new writer has begun, or an error keeps them.
  if (parts_.state.free() && parts_.buffers.active().empty()) parts_.buffers.ReleaseMemory();
  block_sync_.EndWriting(parts_);
}

void FramedFile::NoteDeleted() {
  MutexLock lock(parts_.mutex);
  parts_.deleted = true;
}

bool FramedFile::KeptForNextMount() const {
  MutexLock lock(parts_.mutex);
  return parts_.KeptForNextMount();
}

Status FramedFile::WriteBack() { return WriteBackAll(false); }

Status FramedFile::Sync() { return WriteBackAll(true); }

Status FramedFile::WriteBackAll(bool sync) {
  SyncPoint::Reach("FramedFile::WriteBackAll");
  MutexLock lock(parts_.mutex);
  FramedFileState& state = parts_.state;
  std::uint64_t target = parts_.Size();
  const std::uint64_t failed_sends = state.failed_sends();
  for (;;) {
    if (state.SendFailedSince(failed_sends)) return state.sent();
    target = std::min(target, parts_.Size());  // the file may have been truncated while this waited
    if (state.sound() && (sync ? parts_.StableEnd() : parts_.map.end()) >= target) return {};
    if (state.free()) {
      const bool in_block = sync && block_sync_.Suits(parts_);
      ZENFS_RETURN_IF_ERROR(in_block ? block_sync_.Sync(parts_) : sender_.Send(parts_, sync));
    } else {
      parts_.turn.Wait(parts_.mutex);
    }
  }
}

// Copies buffered bytes under the lock, and reads the others from the device without it.
Result<std::size_t> FramedFile::Read(std::uint64_t offset, ByteSpan into, Frames frames) const {
  FrameMap::VerifiedRead reads;
  ReadPins pins(device_.geometry());
  {
    MutexLock lock(parts_.mutex);
    const ByteSpan placed = FillFromBuffers(parts_, offset, into);
    if (frames == Frames::kVerified) {
      ZENFS_ASSIGN_OR_RETURN(reads, parts_.map.PlanVerifiedRead(offset, placed));
    } else {
      ZENFS_ASSIGN_OR_RETURN(reads.unverified, parts_.map.PlanRead(offset, placed));
    }
    for (const PieceRead& read : reads.unverified) pins.Add(parts_, read.place);
    for (const FrameRead& read : reads.frames) pins.Add(parts_, read.piece.place);
  }
  for (FrameRead& read : reads.frames) {
    const ZoneId zone = device_.geometry().ZoneOf(read.piece.place);
    const std::optional<FrameSeed> seed = log_zones_->SeedOf(zone);
    if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
    read.seed = *seed;
  }
  ZENFS_RETURN_IF_ERROR(ReadPieces(device_, id_, reads.unverified));
  ZENFS_RETURN_IF_ERROR(ReadFrames(device_, id_, reads.frames));
  return into.size();
}

std::vector<Piece> FramedFile::Pieces() const {
  MutexLock lock(parts_.mutex);
  return parts_.map.pieces();
}

std::uint64_t FramedFile::RestatedBytes(std::span<const ZoneId> zones, std::uint64_t bytes) const {
  MutexLock lock(parts_.mutex);
  return parts_.map.RestatedBytes(device_.geometry(), zones, bytes);
}

std::map<ZoneId, LiveFrames> FramedFile::FrameZones() const {
  MutexLock lock(parts_.mutex);
  return parts_.zones.Frames();
}

}  // namespace zenfs
