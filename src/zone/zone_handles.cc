// The tokens of a ZoneManager: ZonePin, ZoneClaim and ZoneWriter. Each returns itself in its destructor.
#include <fmt/format.h>

#include <utility>

#include "zone/zone_manager.h"

namespace zenfs {

// --- ZonePin ---

ZonePin::ZonePin(const ZonePin& other) : manager_(other.manager_), zone_(other.zone_) {
  if (manager_ != nullptr) manager_->AddPin(zone_);
}

ZonePin::ZonePin(ZonePin&& other) noexcept
    : manager_(std::exchange(other.manager_, nullptr)), zone_(other.zone_) {}

ZonePin& ZonePin::operator=(ZonePin other) noexcept {
  std::swap(manager_, other.manager_);
  std::swap(zone_, other.zone_);
  return *this;
}

ZonePin::~ZonePin() {
  if (manager_ != nullptr) manager_->DropPin(zone_);
}

ZonePin ZoneManager::Pin(ZoneId zone) {
  if (zone.value >= setup_.geometry.zone_count) return {};
  AddPin(zone);
  return ZonePin(this, zone);
}

void ZoneManager::AddPin(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.live().Pin(zone);
}

void ZoneManager::DropPin(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.live().Unpin(zone);
  Announce();
}

// --- ZoneClaim ---

ZoneClaim::ZoneClaim(ZoneClaim&& other) noexcept
    : manager_(std::exchange(other.manager_, nullptr)), held_(std::exchange(other.held_, {})) {}

ZoneClaim& ZoneClaim::operator=(ZoneClaim&& other) noexcept {
  ZoneClaim taken(std::move(other));
  std::swap(manager_, taken.manager_);
  std::swap(held_, taken.held_);
  return *this;
}

ZoneClaim::~ZoneClaim() {
  if (manager_ != nullptr) manager_->Unclaim(held_);
}

void ZoneManager::Unclaim(ClaimState& claim) {
  if (!claim.held && claim.promised == 0) return;
  MutexLock lock(mutex_);
  const bool promised = claim.promised != 0;
  pool_.data().Unclaim(claim);
  if (promised) Announce();
}

// --- ZoneWriter ---

ZoneWriter::ZoneWriter(ZoneWriter&& other) noexcept
    : manager_(std::exchange(other.manager_, nullptr)),
      zone_(other.zone_),
      place_(other.place_),
      room_(std::exchange(other.room_, 0)) {}

ZoneWriter& ZoneWriter::operator=(ZoneWriter&& other) noexcept {
  if (this != &other) {
    Release();
    manager_ = std::exchange(other.manager_, nullptr);
    zone_ = other.zone_;
    place_ = other.place_;
    room_ = std::exchange(other.room_, 0);
  }
  return *this;
}

ZoneWriter::~ZoneWriter() { Release(); }

void ZoneWriter::Release() {
  if (manager_ != nullptr) std::exchange(manager_, nullptr)->EndWriter(zone_);
}

void ZoneManager::EndWriter(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.data().EndWriter(zone);
  Announce();
}

Result<ZoneWriter::Placed> ZoneWriter::Write(std::span<const ByteView> pieces) {
  if (manager_ == nullptr)
    return Fail(Code::kInvalidArgument, "write through a zone writer that was released");
  return manager_->Write(*this, pieces);
}

Result<ZoneWriter::Placed> ZoneManager::Write(ZoneWriter& writer, std::span<const ByteView> pieces) {
  std::uint64_t length = 0;
  bool aligned = true;
  for (const ByteView piece : pieces) {
    length += piece.size();
    aligned = aligned && IsMultiple(piece.size(), setup_.geometry.block_size);
  }
  if (length == 0 || length > writer.room_ || !aligned) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("write of {} bytes in {} pieces to zone {}, which has room for {} bytes in blocks of {}",
                    length, pieces.size(), writer.zone_.value, writer.room_, setup_.geometry.block_size));
  }
  const DeviceOffset place = writer.place_;
  Status written = device_.Write(place, pieces);
  if (written.ok()) {
    writer.place_ = place + length;
    writer.room_ -= length;
    MutexLock lock(mutex_);
    pool_.data().Wrote(writer.zone_, length);
    return ZoneWriter::Placed{place, ZonePin(this, writer.zone_)};
  }
  // After a failed write the write pointer is unknown until the next zone report.
  std::optional<ZoneInfo> info;
  if (auto report = device_.Report(writer.zone_, 1); report && report->size() == 1) info = report->front();
  writer.room_ = 0;
  Code code;
  {
    MutexLock lock(mutex_);
    code = pool_.data().WriteFailed(writer.zone_, written.error().code(), info, SteadyNow());
    Announce();
  }
  // The sizes are valid, as checked above, so the device found its write pointer at another place. That is an I/O
  // error.
  if (code == Code::kInvalidArgument) code = Code::kIo;
  return Fail(Error(code,
                    fmt::format("writing {} bytes to zone {} at device offset {}: {}", length,
                                writer.zone_.value, place.value, written.error().text()),
                    written.error().os_errno()));
}

}  // namespace zenfs
