#include "zone/zone_handles.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "zone/zone_manager.h"

namespace zenfs {

// --- ZonePin ---

ZonePin::ZonePin(const ZonePin& other) : zones_(other.zones_), zone_(other.zone_) {
  if (zones_ == nullptr) return;
  MutexLock lock(zones_->mutex_);
  zones_->pool_.Pin(zone_);
}

ZonePin::ZonePin(ZonePin&& other) noexcept
    : zones_(std::exchange(other.zones_, nullptr)), zone_(other.zone_) {}

ZonePin& ZonePin::operator=(ZonePin other) noexcept {
  std::swap(zones_, other.zones_);
  std::swap(zone_, other.zone_);
  return *this;
}

ZonePin::~ZonePin() {
  if (zones_ == nullptr) return;
  MutexLock lock(zones_->mutex_);
  if (zones_->pool_.Unpin(zone_)) zones_->Announce();
}

// --- ZoneClaim ---

ZoneClaim::ZoneClaim(ZoneClaim&& other) noexcept
    : zones_(std::exchange(other.zones_, nullptr)), held_(std::exchange(other.held_, {})) {}

ZoneClaim& ZoneClaim::operator=(ZoneClaim&& other) noexcept {
  ZoneClaim taken(std::move(other));
  std::swap(zones_, taken.zones_);
  std::swap(held_, taken.held_);
  return *this;
}

ZoneClaim::~ZoneClaim() {
  if (zones_ == nullptr || (!held_.held && held_.promised == 0)) return;
  MutexLock lock(zones_->mutex_);
  const bool promised = held_.promised != 0;
  zones_->pool_.ReleaseClaim(held_);
  if (promised) zones_->Announce();
}

void ZoneClaim::ReleasePromise() {
  if (held_.promised == 0) return;
  MutexLock lock(zones_->mutex_);
  zones_->pool_.ReleasePromise(held_);
  zones_->Announce();
}

void ZoneClaim::MovePromiseFrom(ZoneClaim& other) {
  if (&other == this || other.held_.promised == 0) return;
  zones_ = other.zones_;
  held_.promised += std::exchange(other.held_.promised, 0);
}

// --- ZoneWriter ---

ZoneWriter::ZoneWriter(ZoneWriter&& other) noexcept
    : zones_(std::exchange(other.zones_, nullptr)),
      zone_(other.zone_),
      place_(other.place_),
      room_(std::exchange(other.room_, 0)) {}

ZoneWriter& ZoneWriter::operator=(ZoneWriter&& other) noexcept {
  if (this != &other) {
    Release();
    zones_ = std::exchange(other.zones_, nullptr);
    zone_ = other.zone_;
    place_ = other.place_;
    room_ = std::exchange(other.room_, 0);
  }
  return *this;
}

ZoneWriter::~ZoneWriter() { Release(); }

void ZoneWriter::Release() {
  if (zones_ == nullptr) return;
  ZoneManager& zones = *std::exchange(zones_, nullptr);
  MutexLock lock(zones.mutex_);
  zones.pool_.ReleaseWriter(zone_);
  zones.Announce();
}

Result<ZoneWriter::Placed> ZoneWriter::Write(std::span<const ByteView> pieces) {
  std::uint64_t length = 0;
  std::uint64_t all_sizes = 0;  // or-ed: a multiple of a power of two if all are
  for (const ByteView piece : pieces) {
    length += piece.size();
    all_sizes |= piece.size();
  }
  ZENFS_RETURN_IF_ERROR(CheckRequest(length, all_sizes));
  Status written = zones_->device_.Write(place_, pieces);
  if (!written.ok()) return Fail(WriteFailed(std::move(written).error(), length));
  return Wrote(length);
}

Status ZoneWriter::Begin(ByteView bytes, IoRequest& request) const {
  ZENFS_RETURN_IF_ERROR(CheckRequest(bytes.size(), bytes.size()));
  request = {.kind = IoRequest::Kind::kWrite, .offset = place_, .write_from = bytes};
  return {};
}

Result<ZoneWriter::Placed> ZoneWriter::End(IoRequest& request) {
  const std::uint64_t length = request.write_from.size();
  if (!request.status.ok()) return Fail(WriteFailed(std::move(request.status).error(), length));
  return Wrote(length);
}

Result<ZoneWriter::Placed> ZoneWriter::Copy(DeviceOffset from, std::uint64_t length) {
  ZENFS_RETURN_IF_ERROR(CheckRequest(length, length));
  Status copied = zones_->device_.Copy(from, place_, length);
  if (copied.ok()) return Wrote(length);
  if (RefusedCopy(copied.error())) return Fail(std::move(copied).error().As(Code::kNotSupported));
  return Fail(WriteFailed(std::move(copied).error(), length));
}

Status ZoneWriter::CheckRequest(std::uint64_t length, std::uint64_t all_sizes) const {
  if (zones_ == nullptr) return Fail(Code::kInvalidArgument, "write through a zone writer that was released");
  const std::uint32_t block_size = zones_->setup_.geometry.block_size;
  if (length != 0 && length <= room_ && IsMultiple(all_sizes, block_size)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("write of {} bytes to zone {}, which has room for {} bytes in blocks of {}", length,
                          zone_.value, room_, block_size));
}

ZoneWriter::Placed ZoneWriter::Wrote(std::uint64_t length) {
  const DeviceOffset place = place_;
  place_ = place + length;
  room_ -= length;
  MutexLock lock(zones_->mutex_);
  zones_->pool_.Wrote(zone_, length);
  return {place, ZonePin(zones_, zone_)};
}

// Returns true if the copy failed for a reason that says nothing about the zone: the device does not take it, or can't read the
// source. Then the write pointer is where it was.
bool ZoneWriter::RefusedCopy(const Error& error) const {
  const Code code = error.code();
  if (code != Code::kIo && code != Code::kNotSupported && code != Code::kInvalidArgument) return false;
  const std::optional<ZoneInfo> now = ReportOne(zones_->device_, zone_);
  return now && (now->condition == ZoneCondition::kEmpty || IsActive(now->condition)) &&
         now->write_pointer == place_;
}

Error ZoneWriter::WriteFailed(Error error, std::uint64_t length) {
  // After a failed write the write pointer is unknown until the next zone report.
  const std::optional<ZoneInfo> info = ReportOne(zones_->device_, zone_);
  room_ = 0;
  Code code;
  {
    MutexLock lock(zones_->mutex_);
    code = zones_->pool_.WriteFailed(zone_, error.code(), info, SteadyNow());
    zones_->Announce();
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
