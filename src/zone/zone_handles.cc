#include "zone/zone_handles.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "zone/shared_zone_pool.h"
#include "zone/zone_job.h"

namespace zenfs {

// --- ZonePin ---

ZonePin::ZonePin(const ZonePin& other) : shared_(other.shared_), zone_(other.zone_) {
  if (shared_ == nullptr) return;
  MutexLock lock(shared_->mutex);
  shared_->pool.live().Pin(zone_);
}

ZonePin::ZonePin(ZonePin&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)), zone_(other.zone_) {}

ZonePin& ZonePin::operator=(ZonePin other) noexcept {
  std::swap(shared_, other.shared_);
  std::swap(zone_, other.zone_);
  return *this;
}

ZonePin::~ZonePin() {
  if (shared_ == nullptr) return;
  MutexLock lock(shared_->mutex);
  if (shared_->pool.live().Unpin(zone_)) shared_->Announce();
}

// --- ZoneClaim ---

ZoneClaim::ZoneClaim(ZoneClaim&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)), held_(std::exchange(other.held_, {})) {}

ZoneClaim& ZoneClaim::operator=(ZoneClaim&& other) noexcept {
  ZoneClaim taken(std::move(other));
  std::swap(shared_, taken.shared_);
  std::swap(held_, taken.held_);
  return *this;
}

ZoneClaim::~ZoneClaim() {
  if (shared_ == nullptr || (!held_.held && held_.promised == 0)) return;
  MutexLock lock(shared_->mutex);
  const bool promised = held_.promised != 0;
  shared_->pool.data().Unclaim(held_);
  if (promised) shared_->Announce();
}

void ZoneClaim::TakeBackPromise() {
  if (held_.promised == 0) return;
  MutexLock lock(shared_->mutex);
  shared_->pool.data().TakeBackPromise(held_);
  shared_->Announce();
}

// --- ZoneWriter ---

ZoneWriter::ZoneWriter(ZoneWriter&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)),
      zone_(other.zone_),
      place_(other.place_),
      room_(std::exchange(other.room_, 0)) {}

ZoneWriter& ZoneWriter::operator=(ZoneWriter&& other) noexcept {
  if (this != &other) {
    Release();
    shared_ = std::exchange(other.shared_, nullptr);
    zone_ = other.zone_;
    place_ = other.place_;
    room_ = std::exchange(other.room_, 0);
  }
  return *this;
}

ZoneWriter::~ZoneWriter() { Release(); }

void ZoneWriter::Release() {
  if (shared_ == nullptr) return;
  SharedZonePool& shared = *std::exchange(shared_, nullptr);
  MutexLock lock(shared.mutex);
  shared.pool.data().EndWriter(zone_);
  shared.Announce();
}

Result<ZoneWriter::Placed> ZoneWriter::Write(std::span<const ByteView> pieces) {
  if (shared_ == nullptr)
    return Fail(Code::kInvalidArgument, "write through a zone writer that was released");
  const std::uint32_t block_size = shared_->setup.geometry.block_size;
  std::uint64_t length = 0;
  bool aligned = true;
  for (const ByteView piece : pieces) {
    length += piece.size();
    aligned = aligned && IsMultiple(piece.size(), block_size);
  }
  if (length == 0 || length > room_ || !aligned) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("write of {} bytes in {} pieces to zone {}, which has room for {} bytes in blocks of {}",
                    length, pieces.size(), zone_.value, room_, block_size));
  }
  const DeviceOffset place = place_;
  Status written = shared_->device.Write(place, pieces);
  if (!written.ok()) return Fail(WriteFailed(std::move(written).error(), length));
  place_ = place + length;
  room_ -= length;
  MutexLock lock(shared_->mutex);
  shared_->pool.data().Wrote(zone_, length);
  return Placed{place, ZonePin(shared_, zone_)};
}

Error ZoneWriter::WriteFailed(Error error, std::uint64_t length) {
  // After a failed write the write pointer is unknown until the next zone report.
  const std::optional<ZoneInfo> info = ReportOne(shared_->device, zone_);
  room_ = 0;
  Code code;
  {
    MutexLock lock(shared_->mutex);
    code = shared_->pool.data().WriteFailed(zone_, error.code(), info, SteadyNow());
    shared_->Announce();
  }
  // The sizes are valid, as checked before the write, so the device found its write pointer at another place. That is
  // an I/O error.
  if (code == Code::kInvalidArgument) code = Code::kIo;
  return Error(code,
               fmt::format("writing {} bytes to zone {} at device offset {}: {}", length, zone_.value,
                           place_.value, error.text()),
               error.os_errno());
}

}  // namespace zenfs
