#include "wal/framed_file.h"

#include <fmt/format.h>

#include "base/checksum_handoff.h"
#include "base/sync_point.h"
#include "wal/log_drain.h"

namespace zenfs {

namespace {

static_assert(kBufferAreaPayloadAt == kFrameHeaderBytes,
              "the frame header is written in front of the buffered bytes, in place");

// A sync that fills its block takes a second command. So only those use blocks of which many fit: with an eighth of a
// block, it is one sync in eight or fewer.
constexpr std::uint64_t kSyncsInABlock = 8;

// While it exists, other appends to the file wait. Exists only under the lock of the file.
class LongAppend {
 public:
  LongAppend(FramedFileState& state, CondVar& turn) : state_(state), turn_(turn) { state_.BeginLongAppend(); }
  ~LongAppend() {
    state_.EndLongAppend();
    turn_.NotifyAll();
  }
  LongAppend(const LongAppend&) = delete;
  LongAppend& operator=(const LongAppend&) = delete;

 private:
  FramedFileState& state_;
  CondVar& turn_;
};

// Pins on zones, one for each. They keep the zones from being reset.
class ReadPins {
 public:
  explicit ReadPins(const Geometry& geometry) : geometry_(geometry) {}
  void Add(const FileZones& zones, DeviceOffset place) {
    const ZoneId zone = geometry_.ZoneOf(place);
    if (pins_.empty() || pins_.back().zone() != zone) pins_.push_back(zones.PinOf(zone));
  }

 private:
  const Geometry& geometry_;
  std::vector<ZonePin> pins_;
};

Result<FrameSeed> SeedAt(const LogZones& zones, ZoneId zone) {
  const std::optional<FrameSeed> seed = zones.SeedOf(zone);
  if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
  return *seed;
}

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
      log_(deps.log),
      id_(record.id),
      sync_blocks_(deps.log == nullptr ? nullptr : &deps.log->sync_area()),
      map_(record, std::move(replayed.index), deps.epoch, replayed.mtime_seconds),
      zones_(deps.device->geometry(), *deps.zones, deps.log == nullptr ? nullptr : &deps.log->zones()),
      buffers_(deps.buffers, deps.buffer_bytes, record.id, std::move(taken_over.first),
               std::move(taken_over.second)),
      mtime_seconds_(std::max(replayed.mtime_seconds, taken_over.appended_seconds)) {
  zones_.Adopt(replayed.zones, map_.pieces());  // pins the zones, and counts the frames in them as live
  for (const Extent& extent : record.extents) zones_.Pin(extent.place);
}

FramedFile::~FramedFile() {
  MutexLock lock(mutex_);
  // Without an error nobody can ask for the buffered bytes again. After an error they may be the only copy.
  if (state_.sound() || deleted_) buffers_.Clear();
}

std::uint64_t FramedFile::size() const {
  MutexLock lock(mutex_);
  return Size();
}

std::uint64_t FramedFile::mtime_seconds() const {
  MutexLock lock(mutex_);
  return mtime_seconds_;
}

// --- append ---

Status FramedFile::Append(ByteView bytes, KnownCrc crc) {
  if (crc) ZENFS_RETURN_IF_ERROR(CheckHandoff(bytes.size(), Crc32c(bytes), crc));
  MutexLock lock(mutex_);
  while (state_.appends().ok() && (state_.truncating() || state_.appending())) {
    SyncPoint::Reach("FramedFile::Append:waits");  // with the lock held: a handler only counts
    turn_.Wait(mutex_);
  }
  if (state_.appends().ok()) state_.CloseAppends(AppendAll(bytes));
  return state_.appends();
}

Status FramedFile::AppendAll(ByteView bytes) {
  const std::uint64_t failed_sends = state_.failed_sends();
  if (!bytes.empty()) mtime_seconds_ = WallSeconds();
  std::optional<LongAppend> alone;  // from the first wait on
  while (!bytes.empty()) {
    if (state_.SendFailedSince(failed_sends)) return state_.sent();
    const bool repairs = !state_.sound() && state_.free();  // the error is older than this call
    if (!repairs) {
      // The drain may sleep although bytes are buffered, if all of them are in a sync block.
      if (drain_ != nullptr && (buffers_.active().empty() || StableEnd() >= Size())) drain_->NoteBuffered();
      if (buffers_.active().empty()) buffers_.Begin(map_.end());
    }
    if (repairs || buffers_.active().room() == 0) {
      if (!alone) alone.emplace(state_, turn_);
      if (state_.free()) {
        ZENFS_RETURN_IF_ERROR(Send(false));
      } else {
        turn_.Wait(mutex_);
      }
      continue;
    }
    bytes = bytes.subspan(buffers_.Append(bytes, mtime_seconds_));
    if (drain_ != nullptr && buffers_.TakeDrainRequest()) drain_->FlushEarly(id_);
  }
  return {};
}

// --- flush, write-back, sync ---

Status FramedFile::Flush() {
  {
    MutexLock lock(mutex_);
    if (state_.sound() && buffers_.survive_process()) return {};
  }
  return WriteBack();
}

Status FramedFile::WriteBack() { return WriteBackAll(false); }

Status FramedFile::Sync() { return WriteBackAll(true); }

Status FramedFile::WriteBackAll(bool sync) {
  SyncPoint::Reach("FramedFile::WriteBackAll");
  MutexLock lock(mutex_);
  std::uint64_t target = Size();
  const std::uint64_t failed_sends = state_.failed_sends();
  for (;;) {
    if (state_.SendFailedSince(failed_sends)) return state_.sent();
    target = std::min(target, Size());  // the file may have been truncated while this waited
    if (state_.sound() && (sync ? StableEnd() : map_.end()) >= target) return {};
    if (state_.free()) {
      ZENFS_RETURN_IF_ERROR(sync && SuitsSyncBlock() ? SyncInBlock() : Send(sync));
    } else {
      turn_.Wait(mutex_);
    }
  }
}

// --- a send ---
//
// A frame that failed may leave two things on the device. Some of its parts were placed; they are published
// like any other frame. One more part may have been written although the write reported an error. That part
// has the next sequence and begins where the map ends. The next frame has the same sequence and begins
// there too, so a mount may take either of them: the following frame fits both.
//
// A failed flush may lose the published frames behind the stable end. Each of them is written again
// unchanged: with its sequence and in one piece, because later frames have the next sequences. Its bytes
// come from the buffer in flight if they are still there, else from the device if the frame there is
// intact.

Status FramedFile::Send(bool sync) noexcept {
  ZENFS_ASSERT(log_ != nullptr);
  state_.BeginSend();
  Status sent = state_.doubtful() ? PlaceAnew() : Status();
  if (sent.ok()) {
    buffers_.StartFlight();
    sent = SendFlight(sync);
  }
  state_.EndSend(sent);
  turn_.NotifyAll();
  return sent;
}

Status FramedFile::SendFlight(bool sync) {
  AppendBuffer& flight = buffers_.flight();
  const bool has_frame = !flight.empty();
  Status sent;
  do {  // again for the rest of a frame that waits for a zone
    FrameJob job = NextFrame(flight.whole());
    job.file_offset = flight.file_offset();
    job.flush = sync;
    job.placed_before = has_frame ? map_.end() - flight.file_offset() : 0;
    const FlushMark before = FlushMark::Now(device_);
    mutex_.Unlock();  // the caller holds it again when this returns
    if (has_frame) {
      sent = log_->writer().Place(job, placed_);
    } else if (sync && device_.geometry().volatile_cache) {
      sent = FlushLogs(device_);
    }
    mutex_.Lock();
    PublishNext(placed_, job, before);
  } while (sent.ok() && has_frame && map_.end() != flight.end());
  if (!sent.ok()) {
    if (has_frame && map_.end() != flight.end()) {
      state_.FrameFailed();
    } else {
      state_.FlushFailed();  // the whole frame is placed
    }
    return sent;
  }
  if (sync ||
      !device_.geometry().volatile_cache) {  // a flush behind the last frame has succeeded, or none is needed
    if (map_.UnstableSince(FlushMark::Now(device_)).FlushFailedSince(device_)) {
      state_.FlushFailed();
      return Fail(Code::kIo, fmt::format("file {}: bytes {} to {}: {}", id_.value, map_.stable_end(),
                                         map_.end(), kLostToAFlush));
    }
    map_.PromiseStable();
  }
  buffers_.EndFlight();
  return {};
}

// Writes the frames again that a failed flush may have lost. Frames that a cleaning moves meanwhile need no
// repair, because its commit flushes the copies.
Status FramedFile::PlaceAnew() {
  while (state_.cleaning()) turn_.Wait(mutex_);
  const FlushMark before = FlushMark::Now(device_);
  Status status;
  for (std::optional<Piece> piece = map_.FindUnstable(0); piece && status.ok();
       piece = map_.FindUnstable(piece->end())) {
    status = PlaceAnew(*piece);
  }
  zones_.Recount(map_.pieces());  // after an error too: some frames may have been replaced
  if (!status.ok()) return status;
  map_.NoteWrittenAgain(before);
  state_.PlacedAnew();
  if (buffers_.flight().end() <= map_.end()) buffers_.EndFlight();
  return {};
}

Status FramedFile::PlaceAnew(const Piece& piece) {
  AlignedBuffer buffer(piece.frame_bytes);
  const AppendBuffer& flight = buffers_.flight();
  const bool buffered = !flight.empty() && piece.file_offset >= flight.file_offset();
  if (buffered) {
    buffer.Resize(kFrameHeaderBytes);
    buffer.Append(flight.payload().subspan(piece.file_offset - flight.file_offset(), piece.length));
  }
  const FrameJob job{.owner = id_.value,
                     .sequence = piece.sequence,
                     .file_offset = piece.file_offset,
                     .stable_sequence = map_.stable_sequence(),
                     .buffer = &buffer,
                     .time = map_.TimeOfNextFrame(mtime_seconds_),
                     .unsplit = true};
  const FlushMark before = FlushMark::Now(device_);
  mutex_.Unlock();
  std::vector<PlacedFrame> placed;
  Status done;
  if (!buffered) {
    const Result<FrameSeed> seed = SeedAt(log_->zones(), device_.geometry().ZoneOf(piece.place));
    done = seed ? ReadFrame(device_, *seed, id_, piece, buffer) : Fail(seed.error());
  }
  if (done.ok()) done = log_->writer().Place(job, placed);
  mutex_.Lock();
  if (!done.ok()) {
    return Fail(done.error().With(fmt::format("file {}: bytes {} to {}, which a flush may have lost",
                                              id_.value, piece.file_offset, piece.end())));
  }
  Publish(placed.front(), before);
  return {};
}

FrameJob FramedFile::NextFrame(AlignedBuffer& buffer) const {
  return {.owner = id_.value,
          .sequence = map_.next_sequence(),
          .file_offset = map_.end(),
          .stable_sequence = map_.stable_sequence(),
          .buffer = &buffer,
          .time = map_.TimeOfNextFrame(mtime_seconds_)};
}

void FramedFile::Publish(const PlacedFrame& frame, FlushMark before) {
  zones_.Add(frame.pin, frame.live());
  map_.Publish(frame.ToPiece(), before);
}

void FramedFile::PublishNext(std::vector<PlacedFrame>& parts, const FrameJob& job, FlushMark before) {
  for (const PlacedFrame& part : parts) Publish(part, before);
  if (!parts.empty()) map_.NoteTime(job.time);
  parts.clear();
}

// --- a sync in a sync block ---
//
//   map end           size()
//   v                 v
//   | buffered bytes  |      at most a block with the frame header: written as one version of the next frame
//
// The bytes stay buffered, and the map does not know the frame. When they no longer fit in a block, a frame that
// fills one goes to the log first. Whatever sends the bytes to the log later (a full buffer, the drain, a
// sync that is too large) uses the same sequence, so the version in the sync block is a copy that agrees
// with it, and dead.

bool FramedFile::SuitsSyncBlock() const {
  if (sync_blocks_.off() || !state_.sound()) return false;
  const std::uint64_t bytes = Size() - map_.end();
  const std::uint64_t new_bytes = Size() - std::min(Size(), StableEnd());
  return bytes != 0 && bytes <= 2 * sync_blocks_.room() &&
         new_bytes <= device_.geometry().block_size / kSyncsInABlock;
}

Status FramedFile::SyncInBlock() noexcept {
  state_.BeginSend();
  if (!sync_blocks_.taken()) {
    mutex_.Unlock();
    sync_blocks_.Take();
    mutex_.Lock();
  }
  Status synced;
  if (!sync_blocks_.taken()) {
    sync_blocks_.GiveUp();
  } else {
    if (Size() - map_.end() > sync_blocks_.room()) synced = PlaceFullBlock();
    if (synced.ok()) synced = WriteSyncBlock();
  }
  state_.EndSend(synced);
  turn_.NotifyAll();
  return synced;
}

FrameJob FramedFile::NextVersion(std::uint64_t length) {
  AlignedBuffer& image = sync_blocks_.Image(length);
  buffers_.CopyTo(map_.end(), image.Span().subspan(kFrameHeaderBytes), map_.end());
  return NextFrame(image);
}

Status FramedFile::PlaceFullBlock() {
  const FrameJob job = NextVersion(sync_blocks_.room());
  const FlushMark before = FlushMark::Now(device_);
  mutex_.Unlock();
  const Status sent = log_->writer().Place(job, placed_);
  mutex_.Lock();
  PublishNext(placed_, job, before);
  buffers_.Placed(map_.end());
  if (!sent.ok()) state_.FrameFailed();
  return sent;
}

Status FramedFile::WriteSyncBlock() {
  // More bytes may have come while the lock was free; they are not those of this sync.
  const std::uint64_t end = std::min(Size(), map_.end() + sync_blocks_.room());
  const FrameJob job = NextVersion(end - map_.end());
  const FlushMark before = map_.UnstableSince(FlushMark::Now(device_));
  mutex_.Unlock();
  const Status written = sync_blocks_.Write(log_->writer().HeaderOf(job));
  Status flushed = written.ok() && device_.geometry().volatile_cache ? FlushLogs(device_) : Status();
  if (flushed.ok() && before.FlushFailedSince(device_)) {
    flushed = Fail(Code::kIo, fmt::format("file {}: bytes {} to {}: {}", id_.value, job.file_offset, end,
                                          kLostToAFlush));
  }
  mutex_.Lock();
  if (!written.ok()) {
    sync_blocks_.GiveUp();  // the other block keeps what was synced
    return {};
  }
  if (!flushed.ok()) {
    state_.FlushFailed();
    return flushed;
  }
  map_.PromiseStable();
  sync_blocks_.Confirm();
  sync_end_ = end;
  ZENFS_ASSERT(sync_end_ <= Size());
  return {};
}

// --- the drain, and the end of writing ---

FramedFile::Drained FramedFile::WriteBackOlderThan(SteadyTime before, bool again) {
  {
    MutexLock lock(mutex_);
    if (!state_.sound()) {
      if (state_.sent().error().code() != Code::kNoSpace) return Drained::kAll;
      if (!again) return Drained::kNoRoom;
    } else {
      if (buffers_.active().empty()) return Drained::kAll;
      if (StableEnd() >= Size()) return Drained::kAll;  // in a sync block
      if (buffers_.active_since() > before) return Drained::kYounger;
    }
  }
  const Status written = WriteBack();
  return !written.ok() && written.error().code() == Code::kNoSpace ? Drained::kNoRoom : Drained::kAll;
}

void FramedFile::EndWriting() {
  MutexLock lock(mutex_);
  if (!state_.free()) return;
  // Bytes in the active buffer: a new writer has begun, or an error keeps them.
  if (buffers_.active().empty()) buffers_.ReleaseMemory();
  if (sync_end_ <= map_.stable_end()) sync_blocks_.Free();
}

void FramedFile::NoteDeleted() {
  MutexLock lock(mutex_);
  deleted_ = true;
}

bool FramedFile::KeptForNextMount() const {
  MutexLock lock(mutex_);
  return !state_.doubtful() && buffers_.in_slots();
}

// --- reads ---

// Copies buffered bytes under the lock, and reads the others from the device without it.
Result<std::size_t> FramedFile::Read(std::uint64_t offset, ByteSpan into, Frames frames) const {
  ZENFS_ASSERT(frames == Frames::kAsTheyAre || log_ != nullptr);
  FrameMap::VerifiedRead reads;
  ReadPins pins(device_.geometry());
  {
    MutexLock lock(mutex_);
    const std::uint64_t size = Size();
    into = into.first(offset >= size ? 0 : std::min<std::uint64_t>(into.size(), size - offset));
    if (into.empty()) return 0;
    // After an error, bytes may be both in the map and in the buffer in flight; they come from the buffer.
    const std::uint64_t buffered = buffers_.CopyTo(offset, into, map_.end());
    const ByteSpan placed =
        into.first(std::min<std::uint64_t>(into.size(), buffered - std::min(offset, buffered)));
    if (frames == Frames::kVerified) {
      ZENFS_ASSIGN_OR_RETURN(reads, map_.PlanVerifiedRead(offset, placed));
    } else {
      ZENFS_ASSIGN_OR_RETURN(reads.unverified, map_.PlanRead(offset, placed));
    }
    for (const PieceRead& read : reads.unverified) pins.Add(zones_, read.place);
    for (const FrameRead& read : reads.frames) pins.Add(zones_, read.piece.place);
  }
  for (FrameRead& read : reads.frames) {
    ZENFS_ASSIGN_OR_RETURN(read.seed, SeedAt(log_->zones(), device_.geometry().ZoneOf(read.piece.place)));
  }
  ZENFS_RETURN_IF_ERROR(ReadPieces(device_, id_, reads.unverified));
  ZENFS_RETURN_IF_ERROR(ReadFrames(device_, id_, reads.frames));
  return into.size();
}

std::vector<Piece> FramedFile::Pieces() const {
  MutexLock lock(mutex_);
  return map_.pieces();
}

// --- truncation ---

Result<FramedFile::Rewrite> FramedFile::BeginTruncate(std::uint64_t size,
                                                      const std::optional<Extent>& front) {
  ZENFS_RETURN_IF_ERROR(WriteBack());
  MutexLock lock(mutex_);
  while (!state_.free() || state_.cleaning()) turn_.Wait(mutex_);
  if (!state_.sound()) return Fail(state_.sent().error());
  const std::uint64_t old_size = Size();
  if (size > old_size) {
    return Fail(Code::kNotSupported,
                fmt::format("file {}: cannot be truncated to {} bytes, because it has only {}", id_.value,
                            size, old_size));
  }
  if (state_.appending() || old_size != map_.end()) {
    return Fail(Code::kBusy,
                fmt::format("file {}: another thread appended to it during its truncation", id_.value));
  }
  Rewrite rewrite(*this, map_.PlanTruncation(size, front, WallSeconds(), FlushMark::Now(device_)));
  state_.BeginTruncation();
  return rewrite;
}

// --- cleaning, for reclaim ---

CleaningRange FramedFile::RangeToClean(std::span<const ZoneId> zones, std::uint64_t bytes) const {
  MutexLock lock(mutex_);
  return map_.RangeToClean(device_.geometry(), zones, bytes, FlushMark::Now(device_));
}

std::uint64_t FramedFile::RestatedBytes(std::span<const ZoneId> zones, std::uint64_t bytes) const {
  MutexLock lock(mutex_);
  return map_.RestatedBytes(device_.geometry(), zones, bytes);
}

std::map<ZoneId, LiveFrames> FramedFile::FrameZones() const {
  MutexLock lock(mutex_);
  return zones_.Frames();
}

bool FramedFile::HasExtentsIn(ZoneId zone) const {
  MutexLock lock(mutex_);
  return zones_.HasExtentsIn(zone);
}

// Does not wait for a frame in flight, which comes behind the moved bytes: that frame may itself wait for
// the log zone that the cleaning releases.
Result<FramedFile::Rewrite> FramedFile::BeginCleaning(const CleaningRange& range,
                                                      std::vector<Extent> extents) {
  MutexLock lock(mutex_);
  while (state_.truncating() || state_.cleaning()) turn_.Wait(mutex_);
  if (range.unstable_since.FlushFailedSince(device_)) {
    return Fail(Code::kBusy,
                fmt::format("file {}: bytes {} to {}: {}", id_.value, range.from, range.to, kLostToAFlush));
  }
  ZENFS_ASSIGN_OR_RETURN(RewritePlan plan, map_.PlanCleaning(range, std::move(extents)));
  state_.BeginCleaning();
  return Rewrite(*this, std::move(plan));
}

void FramedFile::TakeMoved(const std::vector<Extent>& extents) {
  MutexLock lock(mutex_);
  ZENFS_ASSERT(!state_.truncating() && !state_.cleaning());
  map_.TakeMoved(extents);
  zones_.Recount(map_.pieces());
}

// --- the end of a truncation or a cleaning ---

FramedFile::Rewrite::Rewrite(Rewrite&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), plan_(std::move(other.plan_)) {}

FramedFile::Rewrite::~Rewrite() {
  if (file_ != nullptr) End(Fail(Code::kShutdown, "not committed"));
}

void FramedFile::Rewrite::End(const Status& committed) {
  ZENFS_ASSERT(file_ != nullptr);
  FramedFile& file = *std::exchange(file_, nullptr);
  const bool truncation = plan_.kind == RewritePlan::Kind::kTruncation;
  MutexLock lock(file.mutex_);
  if (committed.ok()) {
    file.map_.Apply(plan_);
    if (truncation) file.mtime_seconds_ = plan_.mtime_seconds;
    file.zones_.Recount(file.map_.pieces());
  } else if (truncation && committed.error().code() == Code::kUnknownOutcome) {
    file.state_.CloseAppends(
        Fail(committed.error().With(fmt::format("truncation of file {}", file.id_.value))));
  }
  if (truncation) {
    file.sync_end_ = 0;  // the sync block may have bytes behind the new end
    file.state_.EndTruncation();
  } else {
    file.state_.EndCleaning();
  }
  file.turn_.NotifyAll();
}

// --- the seal at the unmount ---

std::optional<SealLog> FramedFile::SealOfOpenWindow() const {
  MutexLock lock(mutex_);
  const FlushMark unstable_since = map_.UnstableSince(FlushMark::Now(device_));
  const bool kept = !state_.doubtful() && buffers_.in_slots();
  if (!kept || !state_.free() || unstable_since.FlushFailedSince(device_)) return std::nullopt;
  return map_.SealOfOpenWindow(mtime_seconds_);
}

// --- the files of a volume ---

void LogStore::Add(std::shared_ptr<FramedFile> file) {
  MutexLock lock(mutex_);
  const FileId id = file->id();
  files_.insert_or_assign(id, std::move(file));
}

std::shared_ptr<FramedFile> LogStore::Find(FileId id) const {
  MutexLock lock(mutex_);
  const auto it = files_.find(id);
  return it == files_.end() ? nullptr : it->second;
}

void LogStore::Remove(FileId id) {
  std::shared_ptr<FramedFile> removed;
  MutexLock lock(mutex_);
  const auto it = files_.find(id);
  if (it == files_.end()) return;
  removed = std::move(it->second);
  files_.erase(it);
  lock.Unlock();
  removed->NoteDeleted();
}

std::vector<std::shared_ptr<FramedFile>> LogStore::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<FramedFile>> all;
  all.reserve(files_.size());
  for (const auto& [id, file] : files_) all.push_back(file);
  return all;
}

}  // namespace zenfs
