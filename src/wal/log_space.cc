#include "wal/log_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/sync_point.h"

namespace zenfs {

LogSpace::LogSpace(Env env) : env_(std::move(env)), block_(env_.device->geometry().block_size) {}

LogSpace::~LogSpace() { Stop(); }

void LogSpace::Adopt(const LogZone& zone, const ZoneInfo& info) {
  const std::uint64_t written = info.WrittenBytes();
  const bool writable = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
  MutexLock lock(mutex_);
  Zone adopted{.reservation = zone, .capacity = info.capacity, .written = written};
  adopted.closed = !writable || written >= info.capacity;
  // A partly written zone holds an active slot until it is full, so it is filled before an empty one is
  // opened.
  if (!adopted.closed && written > 0) {
    ready_.push_front(zone.zone);
  } else if (!adopted.closed) {
    ready_.push_back(zone.zone);
  }
  zones_.insert_or_assign(zone.zone, adopted);
  newest_generation_ = std::max(newest_generation_, zone.generation);
}

void LogSpace::FinishSpares() {
  if (env_.device->geometry().max_active == 0) return;
  std::vector<ZoneId> spares;
  {
    MutexLock lock(mutex_);
    spares = CloseSpares();
  }
  // One that can't be finished keeps its slot until it is dead.
  for (const ZoneId zone : spares) IgnoreError(env_.device->Finish(zone));
}

std::vector<ZoneId> LogSpace::CloseSpares() {
  const auto room = [this](ZoneId id) {
    mutex_.AssertHeld();
    const Zone& zone = zones_.at(id);
    return zone.written == 0 ? 0 : zone.capacity - zone.written;
  };
  std::vector<ZoneId> spares;
  std::ranges::copy_if(ready_, std::back_inserter(spares), [&](ZoneId id) { return room(id) != 0; });
  std::ranges::sort(spares, std::greater(), room);
  const bool is_written_on = room_.load() != 0;  // what was brought back went on in another
  if (!is_written_on && !spares.empty()) spares.erase(spares.begin());
  for (const ZoneId spare : spares) {
    std::erase(ready_, spare);
    zones_.at(spare).closed = true;
  }
  return spares;
}

Status LogSpace::Start() {
  MutexLock lock(mutex_);  // the thread waits for it
  ZENFS_ASSIGN_OR_RETURN(worker_, Thread::Start("zenfs-log", [this] { Work(); }));
  started_ = true;
  may_release_ = true;
  poked_ = true;  // zones whose last log went away before the mount are released first
  return {};
}

void LogSpace::MayRelease() {
  MutexLock lock(mutex_);
  may_release_ = true;
}

void LogSpace::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  worker_.Join();
}

Status LogSpace::Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept {
  Waiting waiting{.job = &job, .payload_placed = job.placed_before};
  MutexLock lock(mutex_);
  queue_.push_back(&waiting);
  SyncPoint::Reach("LogSpace::Queued");
  while (!waiting.done) {
    if (leading_) {
      placed_.Wait(mutex_);
      continue;
    }
    leading_ = true;
    std::deque<Waiting*> jobs = std::exchange(queue_, {});
    lock.Unlock();
    Lead(jobs);
    lock.Lock();
    leading_ = false;
    for (Waiting* each : jobs) each->done = true;
    placed_.NotifyAll();
  }
  std::ranges::move(waiting.placed, std::back_inserter(placed));
  return waiting.status;
}

Result<std::vector<PlacedFrame>> LogSpace::Write(const FrameJob& job) {
  std::vector<PlacedFrame> placed;
  const Status status = Place(job, placed);
  if (status.ok()) return placed;
  for (PlacedFrame& frame : placed) {
    const ZoneId zone = frame.pin.zone();
    frame.pin = ZonePin();  // before the background thread looks whether the zone can go
    RemoveLive(zone, {frame.device_bytes, frame.length});
  }
  return Fail(status.error());
}

Status LogSpace::ReadFrame(std::uint64_t owner, const Piece& piece, AlignedBuffer& buffer) {
  const ZoneId zone = env_.device->geometry().ZoneOf(piece.place);
  FrameSeed seed;
  {
    MutexLock lock(mutex_);
    const auto it = zones_.find(zone);
    if (it == zones_.end()) return Fail(Code::kCorruption, fmt::format("zone {} is no log zone", zone.value));
    const LogZone& reserved = it->second.reservation;
    seed = FrameSeed::Of(env_.volume, zone, reserved.generation, reserved.salt);
  }
  buffer.Resize(piece.frame_bytes);
  ZENFS_RETURN_IF_ERROR(
      env_.device->Read(DeviceOffset(piece.place.value - kFrameHeaderBytes), buffer.Span()));
  const ParsedFrame frame = ParseFrame(buffer.View(), seed, block_, piece.frame_bytes);
  const FrameHeader& header = frame.header;
  if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner ||
      header.sequence != piece.sequence || header.file_offset != piece.file_offset ||
      header.payload_bytes != piece.length) {
    return Fail(Code::kCorruption, fmt::format("frame {} of file {} is not in log zone {} any more",
                                               piece.sequence, owner, zone.value));
  }
  buffer.Resize(kFrameHeaderBytes + piece.length);
  return {};
}

void LogSpace::AddLive(ZoneId zone, LiveFrames frames) {
  MutexLock lock(mutex_);
  if (const auto it = zones_.find(zone); it != zones_.end()) it->second.live += frames;
}

void LogSpace::RemoveLive(ZoneId zone, LiveFrames frames) {
  MutexLock lock(mutex_);
  const auto it = zones_.find(zone);
  if (it == zones_.end()) return;
  it->second.live -= frames;
  if (!it->second.closed) return;
  env_.zones->NoteChange();
  if (it->second.live.device_bytes > it->second.written / 2) return;
  poked_ = true;
  wake_.NotifyOne();
}

void LogSpace::Poke() {
  MutexLock lock(mutex_);
  poked_ = true;
  wake_.NotifyOne();
}

}  // namespace zenfs
