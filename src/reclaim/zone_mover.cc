#include "reclaim/zone_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/sync_point.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

// A locked file is tried again later: the thread that holds the lock may wait for the room that this makes.
constexpr std::chrono::nanoseconds kNoWait{0};
constexpr std::uint64_t kPieceBytes = 1 << 20;
// An extent of at most this length is read once and kept in memory until it is moved; longer ones are read twice.
constexpr std::uint64_t kWindowBytes = 8 << 20;
// A drive takes one write after the other, so a sync waits for a copy that was sent before it: 0.1 ms with these, 0.9 ms with
// whole pieces, at 1.1 GiB a second.
constexpr std::uint64_t kWriteBytes = 128 << 10;
// Limits the size of a commit if extents are small.
constexpr std::size_t kExtentsACommit = 256;
// Limit of extents that the copy of a piece of frames may need.
constexpr std::size_t kExtentsOfFrames = 8;
constexpr std::chrono::seconds kWaitForZone{5};
constexpr std::chrono::seconds kWaitInLock{1};
// In both copies of the metadata log: an extent has up to 31 bytes, on most devices 15, and 5 for its checksum.
constexpr std::uint64_t kRestatedBytesAnExtent = 40;

bool Holds(const std::vector<Extent>& extents, const Extent& front) {
  const auto it = FindExtent(extents, front.file_offset);
  return it != extents.end() && it->file_offset == front.file_offset && it->place == front.place &&
         it->length >= front.length;
}

bool Follows(const Extent& extent, DeviceOffset place, const Geometry& geometry) {
  return extent.place + extent.length == place && geometry.ZoneOf(extent.place) == geometry.ZoneOf(place);
}

// The errors of the files in a zone. A file that is busy or damaged does not keep the others from being moved.
class FileErrors {
 public:
  // False if the error ends the move of the zone; it is then outcome().
  bool MayGoOn(FileId file, const Status& moved) {
    if (moved.ok()) return true;
    switch (moved.error().code()) {
      case Code::kBusy: busy_ = moved; return true;
      case Code::kCorruption:
        damaged_ = Fail(moved.error().With(fmt::format("file {} stays where it is", file.value)));
        return true;
      default: end_ = moved; return false;
    }
  }
  Status outcome() const { return !end_.ok() ? end_ : !damaged_.ok() ? damaged_ : busy_; }

 private:
  Status busy_, damaged_, end_;
};

// The last block of the extents gets an extent of its own if it is not full: the next move of frames copies it again, and then verifies only
// that block. `bytes` are those of the file.
void SumAndDivide(std::vector<Extent>& extents, ByteView bytes, std::uint32_t block) {
  const std::uint64_t begin = extents.front().file_offset;
  const Extent last = extents.back();
  const std::uint64_t whole = RoundDown(last.length, block);
  if (whole != 0 && whole != last.length) {
    extents.back().length = whole;
    extents.push_back({last.file_offset + whole, last.place + whole, last.length - whole});
  }
  for (Extent& extent : extents)
    extent.crc = Crc32c(bytes.subspan(extent.file_offset - begin, extent.length));
}

// If the last block of a file's extents is not full, it is copied again, which cuts the last extent. This function
// calculates the checksum of the rest of that extent and puts it in front of the copies. `again`: that of the bytes that were cut off.
void KeepChecksum(Extent last, std::uint32_t again, std::vector<Extent>& copies, CleaningRange& range) {
  if (last.end() <= range.from || !last.crc || last.file_offset >= range.from) return;
  last.crc = Crc32cFront(*last.crc, again, last.end() - range.from);
  last.length = range.from - last.file_offset;
  range.from = last.file_offset;
  copies.insert(copies.begin(), last);
}

}  // namespace

ZoneMover::ZoneMover(const Deps& deps)
    : deps_(deps),
      longest_copy_(deps.device_copy ? std::min(deps.device.geometry().max_copy_bytes, kWriteBytes) : 0),
      piece_{.capacity = kPieceBytes},
      check_{.capacity = kPieceBytes},
      window_{.capacity = kWindowBytes} {}

LogView ZoneMover::LookAtLog() {
  static_cast<void>(deps_.log.supply().ReleaseDead());
  LogView view;
  if (!logs_recovered_) return view;
  view.complete = true;
  view.zones = deps_.log.zones().Zones();
  std::map<ZoneId, std::uint64_t> known;
  std::vector<std::shared_ptr<FramedFile>> files = deps_.logs.All();
  for (std::shared_ptr<FramedFile>& deleted : deps_.files.DeletedLogs()) {
    if (std::ranges::find(files, deleted) == files.end()) files.push_back(std::move(deleted));
  }
  for (const std::shared_ptr<FramedFile>& file : files) {
    FramesOfFile frames = file->FrameZones();
    for (const auto& [zone, live] : frames) known[zone] += live.device_bytes;
    if (!frames.empty()) view.files.push_back(std::move(frames));
  }
  for (LogZoneStatus& zone : view.zones) zone.held = zone.held || zone.live.device_bytes > known[zone.zone];
  return view;
}

std::uint64_t ZoneMover::RestatedBytes(const Victim& victim) const {
  std::uint64_t bytes = 0;
  if (victim.kind != Victim::Kind::kLog) {
    for (const auto& file : FilesIn(victim.zone))
      bytes += zenfs::RestatedBytes(*file, victim.zone, deps_.device.geometry());
    return bytes;
  }
  const std::vector<ZoneId> group = GroupOf(victim);
  for (const auto& file : deps_.logs.All()) bytes += file->RestatedBytes(group, kPieceBytes);
  return bytes;
}

// --- a zone ---

Status ZoneMover::Empty(const Victim& victim, const Pause& pause) {
  Status emptied;
  {
    MutexLock lock(mover_mutex_);
    copying_since_ = FlushMark::Now(deps_.device);
    emptied = EmptyVictim(victim, pause);
  }
  NoteDamage(emptied);
  deps_.accounting.Publish();  // also if nobody writes meanwhile
  return emptied;
}

Status ZoneMover::EmptyVictim(const Victim& victim, const Pause& pause) {
  switch (victim.kind) {
    case Victim::Kind::kData: return MoveExtents(victim.zone, pause);
    case Victim::Kind::kActive:
      if (deps_.zones.FinishActive(victim.zone)) return {};
      return Fail(Code::kBusy, fmt::format("zone {} is being written", victim.zone.value));
    case Victim::Kind::kLog: break;
  }
  const std::vector<ZoneId> group = GroupOf(victim);
  deps_.log.zones().NoteCleaning(group);
  const Status cleaned = MoveFrames(group, pause);
  static_cast<void>(deps_.log.supply().ReleaseDead());
  return cleaned;
}

Status ZoneMover::EmptyZone(ZoneId zone) {
  const bool exists = zone.value < deps_.device.geometry().zone_count;
  const ZoneStatus status = exists ? deps_.zones.Zone(zone) : ZoneStatus{};
  // An active zone is refused, because the copies could go to its own end.
  if (status.phase != ZonePhase::kFull && status.phase != ZonePhase::kRetired) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: zone {} is not a full zone of file data", deps_.device.name(), zone.value));
  }
  return Empty({.zone = zone});
}

std::vector<ZoneId> ZoneMover::GroupOf(const Victim& victim) const {
  std::vector<ZoneId> group;
  for (const LogZoneStatus& zone : deps_.log.zones().Zones()) {
    if (zone.generation == victim.generation && zone.closed) group.push_back(zone.zone);
  }
  return group;
}

// A file that is created meanwhile is not in a full zone, or is found by the next search.
std::vector<std::shared_ptr<const FileRecord>> ZoneMover::FilesIn(ZoneId zone) const {
  const Geometry& geometry = deps_.device.geometry();
  const DeviceOffset begin = geometry.ZoneStart(zone);
  return deps_.catalog.FilesIn(begin, begin + geometry.zone_size);
}

Status ZoneMover::CheckNotStopped() const {
  if (!stopped_.load(std::memory_order_relaxed)) return {};
  return Fail(Code::kShutdown, deps_.device.name() + ": is being unmounted");
}

void ZoneMover::NoteDamage(const Status& status) {
  if (status.ok() || status.error().code() != Code::kCorruption) return;
  MutexLock lock(mutex_);
  std::string text = status.error().ToString();
  if (std::ranges::find(damage_, text) == damage_.end()) damage_.push_back(std::move(text));
}

std::vector<std::string> ZoneMover::damage() const {
  MutexLock lock(mutex_);
  return damage_;
}

// --- a file ---

Result<ZoneMover::Locked> ZoneMover::TryLock(FileId id) const {
  Locked locked;
  const Catalog::Planner lock_file = [&](const CatalogView& view, LockKeys& keys) -> Status {
    locked.record = view.state().FindFile(id);
    keys.exclusive.push_back(id);
    return {};
  };
  ZENFS_ASSIGN_OR_RETURN(locked.action, deps_.catalog.Begin(lock_file, Deadline::After(kNoWait)));
  return locked;
}

// A file that is open for writing is skipped: its writer may hold it while it waits for the space that is being made.
Result<ZoneMover::Locked> ZoneMover::LockToMove(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(Locked locked, TryLock(id));
  const auto busy = [&](std::string_view why) {
    return Fail(Code::kBusy, fmt::format("file {} {}", id.value, why));
  };
  if (locked.record == nullptr) return busy("is gone or not committed yet");
  if (!logs_recovered_ && (locked.record->shape == FileShape::kFramed || recovering_.contains(id)))
    return busy("is being recovered");
  const std::shared_ptr<OpenFile> file = deps_.files.Find(id);
  if (file != nullptr && !file->MovesWhileWritten() && file->writers.load() != 0)
    return busy("is being written");
  return locked;
}

Status ZoneMover::Commit(std::vector<Edit> edits) {
  return deps_.commits.Commit(std::move(edits), {.data_since = copying_since_});
}

bool ZoneMover::Notify(FileId id, const std::vector<Extent>& extents) {
  if (const auto log = deps_.logs.Find(id)) {  // it is there without a handle, too
    log->TakeMoved(extents);
    return true;
  }
  const std::shared_ptr<OpenFile> file = deps_.files.Find(id);
  return file == nullptr || file->TakeMoved(extents);
}

void ZoneMover::AddPending(FileId id) {
  MutexLock lock(mutex_);
  pending_.insert(id);
}

bool ZoneMover::RetryPending() {
  std::set<FileId> pending;
  {
    MutexLock lock(mutex_);
    pending.swap(pending_);
  }
  for (const FileId id : pending) {
    const Result<Locked> locked = TryLock(id);
    const bool done = locked && (locked->record == nullptr || Notify(id, locked->record->extents));
    if (!done && deps_.catalog.FindFile(id) != nullptr) AddPending(id);
  }
  MutexLock lock(mutex_);
  return !pending_.empty();
}

// --- extents ---

Status ZoneMover::MoveExtents(ZoneId zone, const Pause& pause) {
  const ZonePin pin = deps_.zones.PinVictim(zone);  // prevents a reset while the zone is read
  if (!pin.valid()) return {};
  FileErrors errors;
  for (const std::shared_ptr<const FileRecord>& file : FilesIn(zone)) {
    if (!errors.MayGoOn(file->id, MoveFile(*file, zone, pause))) break;
  }
  return errors.outcome();
}

Status ZoneMover::MoveFile(FileRecord file, ZoneId zone, const Pause& pause) {
  sums_.clear();
  for (;;) {
    Piece piece = NextPiece(file, zone);
    if (piece.from.empty()) return {};
    ZENFS_RETURN_IF_ERROR(deps_.commits.CheckRoomForExtents(file.extents.size() + piece.from.size()));
    const auto begins = FindExtent(file.extents, piece.from.front().file_offset);
    if (begins->length > kPieceBytes && !sums_.contains(begins->file_offset)) {
      ZENFS_RETURN_IF_ERROR(SumPieces(*begins, pause));
    }
    ZENFS_ASSIGN_OR_RETURN(file.extents, MovePiece(file, piece, pause));
  }
}

// Returns the next piece: extents in the zone, or the front of an extent that is longer than a piece.
ZoneMover::Piece ZoneMover::NextPiece(const FileRecord& file, ZoneId zone) const {
  const Geometry& geometry = deps_.device.geometry();
  Piece piece;
  std::uint64_t bytes = 0;
  for (Extent extent : file.extents) {
    if (geometry.ZoneOf(extent.place) != zone) continue;
    if (bytes != 0 && (bytes + extent.length > kPieceBytes || piece.from.size() == kExtentsACommit)) break;
    if (extent.length > kPieceBytes) {
      extent.length = kPieceBytes;
      extent.crc.reset();
    }
    bytes += extent.length;
    piece.from.push_back(extent);
  }
  return piece;
}

Result<std::vector<Extent>> ZoneMover::MovePiece(const FileRecord& file, Piece& piece, const Pause& pause) {
  ZENFS_RETURN_IF_ERROR(CheckNotStopped());
  const auto lock_unchanged = [&]() -> Result<Locked> {
    ZENFS_ASSIGN_OR_RETURN(Locked locked, LockToMove(file.id));
    for (const Extent& front : piece.from) {
      if (Holds(locked.record->extents, front)) continue;
      return Fail(Code::kBusy, fmt::format("file {}: changed while it was moved", file.id.value));
    }
    return locked;
  };
  const SteadyTime begin = SteadyNow();
  if (const Result<Locked> free = lock_unchanged(); !free) return Fail(free.error());
  ZENFS_RETURN_IF_ERROR(CopyPiece(file, piece));
  const SteadyTime copied = SteadyNow();
  if (pause) pause(copied - begin);
  SyncPoint::Reach("ZoneMover::MovePiece:copied");
  const SteadyTime commits = SteadyNow();
  MovedExtents moved;
  {
    ZENFS_ASSIGN_OR_RETURN(const Locked locked, lock_unchanged());
    moved = ReplaceExtents(*locked.record, piece.from, piece.to, deps_.device.geometry());
    ZENFS_RETURN_IF_ERROR(Commit({std::move(moved.edit)}));
    // The old and the new zones are pinned until the open file knows.
    if (!Notify(file.id, moved.all)) {
      AddPending(file.id);
      return Fail(Code::kBusy, fmt::format("file {}: was written to while it was moved", file.id.value));
    }
  }
  // The commit of a file with very many extents may take longer than the copy.
  if (const auto longer = (SteadyNow() - commits) - (copied - begin); pause && longer.count() > 0)
    pause(longer);
  return std::move(moved.all);
}

Status ZoneMover::CopyPiece(const FileRecord& file, Piece& piece) {
  for (Extent& front : piece.from) {
    ZENFS_ASSIGN_OR_RETURN(const bool copied, CopyInside(front, file.lifetime, piece));
    if (copied) continue;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, ReadFront(file, front));
    const std::size_t first = piece.to.size();
    ZENFS_RETURN_IF_ERROR(Write({.sink = deps_.sink,
                                 .cursor = cursors_[static_cast<std::size_t>(file.lifetime)],
                                 .lifetime = file.lifetime,
                                 .wait = kWaitForZone},
                                front.file_offset, front.length, bytes, piece));
    for (Extent& to : std::span(piece.to).subspan(first)) {
      // The checksum is known unless the end of a zone divided the copy.
      to.crc = to.length == front.length
                   ? front.crc
                   : Crc32c(bytes.subspan(to.file_offset - front.file_offset, to.length));
    }
  }
  return {};
}

Status ZoneMover::SumPieces(const Extent& extent, const Pause& pause) {
  const bool fits = extent.length <= kWindowBytes;
  Buffer& buffer = fits ? window_ : piece_;
  std::uint32_t whole = 0;
  for (std::uint64_t at = 0; at < extent.length; at += kPieceBytes) {
    ZENFS_RETURN_IF_ERROR(CheckNotStopped());
    const SteadyTime begin = SteadyNow();
    const std::uint64_t length = std::min(kPieceBytes, extent.length - at);
    const std::uint64_t in_buffer = fits ? at : 0;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(buffer, in_buffer, extent.place + at, length));
    const std::uint32_t crc = Crc32c(bytes.first(length));
    whole = Crc32cWhole(whole, crc, length);
    sums_[extent.file_offset + at] = {length, crc};
    if (pause) pause(SteadyNow() - begin);
  }
  window_begin_ = fits ? std::optional(extent.place) : std::nullopt;
  window_bytes_ = extent.length;
  return whole == extent.crc.value_or(whole) ? Status() : NotMoved(extent);
}

// Returns the verified bytes of `front` in whole blocks, with the padding of the last block, and sets the checksum of
// `front`.
Result<ByteView> ZoneMover::ReadFront(const FileRecord& file, Extent& front) {
  const KnownCrc expected = SumOf(front);
  if (FindSum(front) != nullptr && window_begin_ && front.place.value >= window_begin_->value &&
      front.place.value + front.length <= window_begin_->value + window_bytes_) {
    front.crc = expected;
    return window_.memory.View(front.place - *window_begin_,
                               RoundUp(front.length, deps_.device.geometry().block_size));
  }
  ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(piece_, 0, front.place, front.length));
  front.crc = Crc32c(bytes.first(front.length));
  if (expected && *expected != *front.crc)
    return Fail(NotMoved(*FindExtent(file.extents, front.file_offset)).error());
  return bytes;
}

const ZoneMover::Sum* ZoneMover::FindSum(const Extent& front) const {
  const auto sum = sums_.find(front.file_offset);
  return sum != sums_.end() && sum->second.length == front.length ? &sum->second : nullptr;
}

KnownCrc ZoneMover::SumOf(const Extent& front) const {
  const Sum* const sum = FindSum(front);
  return sum != nullptr ? KnownCrc(sum->crc) : front.crc;
}

// Copies `front` inside the device and compares the checksum of the copy. Returns false if the host must copy: the checksum is
// not known, the device does not copy, or the copy is not what it should be, and then reading tells whether the source is
// damaged or the device can't be trusted with this.
Result<bool> ZoneMover::CopyInside(Extent& front, Lifetime lifetime, Copies& copies) {
  const KnownCrc expected = SumOf(front);
  if (longest_copy_ == 0 || !expected) return false;
  const std::size_t first = copies.to.size();
  const std::uint64_t bytes = RoundUp(front.length, deps_.device.geometry().block_size);
  SinkCursor& cursor = cursors_[static_cast<std::size_t>(lifetime)];
  const std::uint64_t longest = longest_copy_;
  const Status placed = Place(front.file_offset, front.length, copies, [&](std::uint64_t done) {
    return deps_.sink.Copy(cursor, lifetime, front.place + done, std::min(longest, bytes - done),
                           Deadline::After(kWaitForZone));
  });
  if (!placed.ok() && placed.error().code() == Code::kNotSupported) return LeaveToHost(first, copies);
  if (!placed.ok()) return Fail(placed.error());
  std::uint32_t sum = 0;
  for (Extent& to : std::span(copies.to).subspan(first)) {
    ZENFS_ASSIGN_OR_RETURN(const ByteView copied, Read(check_, 0, to.place, to.length));
    to.crc = Crc32c(copied.first(to.length));
    sum = Crc32cWhole(sum, *to.crc, to.length);
  }
  if (sum != *expected) return LeaveToHost(first, copies);
  front.crc = expected;
  return true;
}

// What was copied of the front is garbage. The host copies from now on.
bool ZoneMover::LeaveToHost(std::size_t first, Copies& copies) {
  longest_copy_ = 0;
  copies.to.resize(first);
  return false;
}

// --- frames ---

Status ZoneMover::MoveFrames(std::span<const ZoneId> group, const Pause& pause) {
  FileErrors errors;
  for (const std::shared_ptr<FramedFile>& file : deps_.logs.All()) {
    if (!errors.MayGoOn(file->id(), MoveFramesOf(*file, /*deleted=*/false, group, pause)))
      return errors.outcome();
  }
  // After the others: a file that is deleted meanwhile is in both lists, rather than in neither.
  for (const std::shared_ptr<FramedFile>& file : deps_.files.DeletedLogs()) {
    if (!errors.MayGoOn(file->id(), MoveFramesOf(*file, /*deleted=*/true, group, pause))) break;
  }
  return errors.outcome();
}

Status ZoneMover::MoveFramesOf(FramedFile& file, bool deleted, std::span<const ZoneId> group,
                               const Pause& pause) {
  while (file.RangeToClean(group).to != 0) {
    ZENFS_RETURN_IF_ERROR(CheckNotStopped());
    const SteadyTime begin = SteadyNow();
    {
      ZENFS_ASSIGN_OR_RETURN(const Locked locked, deleted ? TryLock(file.id()) : LockToMove(file.id()));
      // The file may have changed before it was locked.
      const CleaningRange range = file.RangeToClean(group, kPieceBytes);
      if (range.to == 0) return {};
      ZENFS_RETURN_IF_ERROR(MoveRange(file, deleted ? nullptr : locked.record.get(), range));
    }
    if (pause) pause(SteadyNow() - begin);
  }
  return {};
}

Status ZoneMover::MoveRange(FramedFile& file, const FileRecord* record, CleaningRange range) {
  if (record != nullptr) ZENFS_RETURN_IF_ERROR(deps_.commits.CheckRoomForExtents(kExtentsOfFrames));
  const std::uint64_t bytes = range.to - range.from;
  const Extent* const last = record == nullptr || record->extents.empty() ? nullptr : &record->extents.back();
  std::uint32_t again = 0;
  ZENFS_ASSIGN_OR_RETURN(Copies copies, CopyFrames(file, range, last, &again));
  if (last != nullptr) KeepChecksum(*last, again, copies.to, range);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copies.to));
  const Status done = record != nullptr ? Commit(rewrite.edits()) : SettleDeleted(copies.to);
  rewrite.End(done);
  if (done.ok()) deps_.written.cleaned.fetch_add(bytes, std::memory_order_relaxed);
  return done;
}

Result<ZoneMover::Copies> ZoneMover::CopyFrames(const FramedFile& file, const CleaningRange& range,
                                                const Extent* last, std::uint32_t* again) {
  const std::uint32_t block = deps_.device.geometry().block_size;
  const std::uint64_t length = range.to - range.from;
  AlignedBuffer buffer(RoundUp(length, block));
  buffer.Resize(length);
  const Result<std::uint64_t> in_extents = ReadFrames(file, range, last, buffer.Span());
  if (!in_extents &&
      range.unstable_since.FlushFailedSince(deps_.device)) {  // no damage: the frame is written again
    return Fail(Code::kBusy, fmt::format("file {}: {}", file.id().value, kLostToAFlush));
  }
  if (!in_extents) return Fail(in_extents.error());
  *again = Crc32c(buffer.View(0, *in_extents));
  buffer.PadTo(block);
  Copies copies;
  SinkCursor cursor;
  ZENFS_RETURN_IF_ERROR(Write({.sink = deps_.log_sink, .cursor = cursor, .wait = kWaitInLock}, range.from,
                              length, buffer.View(), copies));
  SumAndDivide(copies.to, buffer.View(), block);
  return copies;
}

// Reads the bytes of a range: those in the last extent `last`, if it is not null and they begin in it, and those in frames. All
// are verified. Returns the number of bytes in `last`.
Result<std::uint64_t> ZoneMover::ReadFrames(const FramedFile& file, const CleaningRange& range,
                                            const Extent* last, ByteSpan into) {
  const std::uint64_t again = last != nullptr && last->end() > range.from ? last->end() - range.from : 0;
  if (again != 0) {
    ZENFS_RETURN_IF_ERROR(ReadVerified(deps_.device, *last, range.from, into.first(again)));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n,
                         file.Read(range.from + again, into.subspan(again), FramedFile::Frames::kVerified));
  if (again + n != into.size()) return Fail(Code::kBusy, "a log was truncated while it was moved");
  return again;
}

Status ZoneMover::SettleDeleted(const std::vector<Extent>& copies) {
  ZENFS_RETURN_IF_ERROR(Commit({}));  // only flushes
  deps_.zones.AddLive(copies);
  return deps_.zones.RemoveLive(copies) ? Status() : deps_.zones.health();
}

// --- both ---

Status ZoneMover::Place(std::uint64_t file_offset, std::uint64_t length, Copies& copies, const Send& send) {
  const std::size_t first = copies.to.size();
  for (std::uint64_t done = 0; done < length;) {
    ZENFS_ASSIGN_OR_RETURN(ExtentSink::Placed placed, send(done));
    const std::uint64_t bytes = std::min(placed.length, length - done);
    if (copies.to.size() != first && Follows(copies.to.back(), placed.place, deps_.device.geometry())) {
      copies.to.back().length += bytes;
    } else {
      copies.to.push_back({file_offset + done, placed.place, bytes});
    }
    copies.pins.push_back(std::move(placed.pin));
    done += placed.length;
  }
  return {};
}

Status ZoneMover::Write(const Destination& destination, std::uint64_t file_offset, std::uint64_t length,
                        ByteView bytes, Copies& copies) {
  const std::size_t first = copies.to.size();
  ZENFS_RETURN_IF_ERROR(Place(file_offset, length, copies, [&](std::uint64_t done) {
    const ByteView part = bytes.subspan(done, std::min<std::uint64_t>(kWriteBytes, bytes.size() - done));
    return destination.sink.Write(destination.cursor, destination.lifetime, {&part, 1},
                                  Deadline::After(destination.wait));
  }));
  for (const Extent& to : std::span(copies.to).subspan(first)) {
    const std::uint64_t whole = RoundUp(to.length, deps_.device.geometry().block_size);
    ZENFS_RETURN_IF_ERROR(Verify(to.place, bytes.subspan(to.file_offset - file_offset, whole)));
  }
  return {};
}

Status ZoneMover::Verify(DeviceOffset place, ByteView written) {
  while (!written.empty()) {  // a frame may be longer than a piece
    const ByteView part = written.first(std::min<std::uint64_t>(kPieceBytes, written.size()));
    ZENFS_ASSIGN_OR_RETURN(const ByteView copy, Read(check_, 0, place, part.size()));
    if (std::memcmp(copy.data(), part.data(), part.size()) != 0) {
      const Geometry& geometry = deps_.device.geometry();
      const ZoneId zone = geometry.ZoneOf(place);
      return Fail(
          Code::kCorruption,
          fmt::format("{}: zone {} at byte {}: {} bytes that were moved there read back differently; the "
                      "original stays in use",
                      deps_.device.name(), zone.value, place - geometry.ZoneStart(zone), part.size()));
    }
    place = place + part.size();
    written = written.subspan(part.size());
  }
  return {};
}

// Reads whole blocks to `buffer` from byte `at` on.
Result<ByteView> ZoneMover::Read(Buffer& buffer, std::uint64_t at, DeviceOffset place, std::uint64_t length) {
  const std::uint64_t bytes = RoundUp(length, deps_.device.geometry().block_size);
  if (buffer.memory.capacity() < buffer.capacity) buffer.memory = AlignedBuffer(buffer.capacity);
  ZENFS_RETURN_IF_ERROR(deps_.device.Read(place, buffer.memory.Whole().subspan(at, bytes)));
  return buffer.memory.View(at, bytes);
}

std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry) {
  std::uint64_t restated = 0;  // extents
  std::uint64_t bytes = 0;     // of the present piece
  std::size_t extents = 0;
  for (std::size_t i = 0; i < file.extents.size(); ++i) {
    const Extent& extent = file.extents[i];
    if (geometry.ZoneOf(extent.place) != zone) continue;
    const bool begins = extents == 0 || bytes + extent.length > kPieceBytes || extents == kExtentsACommit;
    if (begins) bytes = extents = 0;
    const std::uint64_t pieces = std::max<std::uint64_t>((extent.length + kPieceBytes - 1) / kPieceBytes, 1);
    restated += (begins ? pieces : 0) * (file.extents.size() - i);
    bytes += extent.length;
    ++extents;
  }
  return restated * kRestatedBytesAnExtent;
}

MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                            const std::vector<Extent>& to, const Geometry& geometry) {
  MovedExtents moved;
  auto copy = to.begin();
  auto original = from.begin();
  for (const Extent& extent : file.extents) {
    if (original == from.end() || extent.file_offset != original->file_offset) {
      AppendExtent(moved.all, extent, geometry);
      continue;
    }
    while (copy != to.end() && copy->file_offset < original->end())
      AppendExtent(moved.all, *copy++, geometry);
    if (const std::uint64_t left = extent.length - original->length; left != 0) {
      Extent rest{original->end(), extent.place + original->length, left};
      if (extent.crc && original->crc) rest.crc = Crc32cBack(*extent.crc, *original->crc, left);
      AppendExtent(moved.all, rest, geometry);
    }
    ++original;
  }
  ZENFS_ASSERT(original == from.end() && copy == to.end() && ExtentsEnd(moved.all) == file.ExtentsEnd());
  // The first copy may have been joined with the extent in front of it, so the edit begins with that extent.
  std::uint64_t first = from.empty() ? 0 : from.front().file_offset;
  for (const Extent& extent : moved.all) {
    if (extent.file_offset < first && first < extent.end()) first = extent.file_offset;
  }
  moved.edit = SetExtents{.id = file.id,
                          .from_offset = first,
                          .extents = ClipExtents(moved.all, first, file.ExtentsEnd()),
                          .size = file.size,
                          .mtime_seconds = file.mtime_seconds};
  return moved;
}

}  // namespace zenfs
