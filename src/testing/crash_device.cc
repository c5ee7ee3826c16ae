#include "testing/crash_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/zeros.h"
#include "device/request_check.h"
#include "testing/immediate_queue.h"

namespace zenfs {
namespace {

Blocks Cut(std::span<const ByteView> pieces, std::uint32_t block_size) {
  Blocks blocks;
  for (ByteView piece : pieces) {
    for (; !piece.empty(); piece = piece.subspan(block_size)) {
      const ByteView block = piece.first(block_size);
      blocks.push_back(std::make_shared<const Block>(Block{{block.begin(), block.end()}, false}));
    }
  }
  return blocks;
}

std::vector<ZoneImage> FreshImages(const EmulatorGeometry& geometry) {
  const ZoneMachine machine(geometry);
  std::vector<ZoneImage> images(geometry.zones);
  for (std::uint32_t i = 0; i < geometry.zones; ++i) images[i].state = machine.state(ZoneId(i));
  return images;
}

// Zones keep different numbers of commands, so more zones could be active or have a random write area than the device
// allows (`max`; 0: no limit). In such an image, zones that newly count go back to their durable state, which respected
// the limit.
void KeepLimit(std::uint32_t max, bool (*counts)(const MachineZone&), const std::vector<ZoneImage>& durable,
               std::vector<ZoneImage>& images) {
  if (max == 0) return;
  std::uint32_t count = 0;
  for (const ZoneImage& image : images) count += counts(image.state) ? 1 : 0;
  for (std::size_t i = 0; i < images.size() && count > max; ++i) {
    if (!counts(images[i].state) || counts(durable[i].state)) continue;
    images[i] = durable[i];
    --count;
  }
}

bool IsActiveZone(const MachineZone& zone) { return IsActive(zone.condition); }
bool HasRandomArea(const MachineZone& zone) { return zone.random_area; }

}  // namespace

CrashDevice::CrashDevice(const EmulatorGeometry& geometry) : CrashDevice(geometry, FreshImages(geometry)) {}

CrashDevice::CrashDevice(const EmulatorGeometry& geometry, std::vector<ZoneImage> images)
    : emulator_geometry_(geometry), geometry_(ToDeviceGeometry(geometry, true)), machine_(geometry) {
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < geometry.zones; ++i) {
    // The machine refuses the state: a bug in the loss policies.
    if (!machine_.Restore(ZoneId(i), images[i].state).ok())
      FailAssertion("CrashDevice: impossible zone state\n");
    zones_.push_back({images[i], {}, images[i], geometry.random_area / geometry.block_size});
  }
}

void CrashDevice::SplitLogs(std::uint32_t zones, std::uint32_t max_active) {
  geometry_.log_zones = zones;
  geometry_.log_max_active = geometry_.max_active == 0 ? 0 : max_active;
  geometry_.log_max_open = geometry_.max_open == 0 ? 0 : max_active;
  geometry_.max_active -= geometry_.log_max_active;
  geometry_.max_open -= geometry_.log_max_open;
}

void CrashDevice::StopAfter(std::uint64_t n) {
  MutexLock lock(mutex_);
  stop_after_ = n;
}

void CrashDevice::OnStop(std::function<void()> call) {
  MutexLock lock(mutex_);
  on_stop_ = std::move(call);
}

std::uint64_t CrashDevice::commands() const {
  MutexLock lock(mutex_);
  return commands_;
}

bool CrashDevice::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

std::unique_ptr<CrashDevice> CrashDevice::Image(LossPolicy policy) const {
  MutexLock lock(mutex_);
  return ImageBy(policy);
}

CrashDevice::Images CrashDevice::EnumerateImages(std::size_t limit) const {
  MutexLock lock(mutex_);
  Images result;
  Random random(1);
  std::vector<std::vector<ZoneLoss>> choices;
  std::size_t combinations = 1;
  for (const ZoneHistory& zone : zones_) {
    if (combinations <= limit) choices.push_back(EnumerateLosses(zone));
    combinations = combinations > limit ? combinations : combinations * choices.back().size();
  }
  result.complete = combinations <= limit;
  if (!result.complete) {
    result.images.push_back(ImageBy(LossPolicy::KeepAll()));
    result.images.push_back(ImageBy(LossPolicy::LoseAll()));
    for (std::size_t i = 2; i < limit; ++i) result.images.push_back(ImageBy(LossPolicy::Random(i)));
    return result;
  }
  for (std::size_t n = 0; n < combinations; ++n) {
    std::vector<ZoneLoss> losses;
    std::size_t rest = n;
    for (const auto& of_zone : choices) {
      losses.push_back(of_zone[rest % of_zone.size()]);
      rest /= of_zone.size();
    }
    result.images.push_back(ImageOf(losses, random));
  }
  return result;
}

std::unique_ptr<CrashDevice> CrashDevice::ImageBy(LossPolicy policy) const {
  if (policy.kind == LossPolicy::Kind::kKeepAll) {
    std::vector<ZoneHistory> zones = zones_;
    if (dropped_) {
      for (ZoneHistory& zone : zones) zone.LoseCache();
    }
    std::vector<ZoneImage> images;
    for (const ZoneHistory& zone : zones) images.push_back(zone.live);
    std::unique_ptr<CrashDevice> image(new CrashDevice(emulator_geometry_, std::move(images)));
    MutexLock lock(image->mutex_);
    image->zones_ = std::move(zones);  // unflushed commands stay unflushed: power may still be lost
    image->identity_ = identity_;
    image->shows_zeros_ = shows_zeros_;
    image->geometry_ = geometry_;
    return image;
  }
  Random random(policy.seed);
  std::vector<ZoneLoss> losses(zones_.size());
  if (policy.kind == LossPolicy::Kind::kRandom) {
    for (std::size_t i = 0; i < zones_.size(); ++i) losses[i] = RandomLoss(zones_[i], random);
  }
  return ImageOf(losses, random);
}

std::unique_ptr<CrashDevice> CrashDevice::ImageOf(const std::vector<ZoneLoss>& losses, Random& random) const {
  std::vector<ZoneImage> durable;
  std::vector<ZoneImage> images;
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    durable.push_back(AfterLoss(zones_[i], ZoneLoss{}, geometry_.block_size, random));
    images.push_back(AfterLoss(zones_[i], losses[i], geometry_.block_size, random));
  }
  KeepLimit(emulator_geometry_.max_active, &IsActiveZone, durable, images);
  KeepLimit(emulator_geometry_.random_zones, &HasRandomArea, durable, images);
  std::unique_ptr<CrashDevice> image(new CrashDevice(emulator_geometry_, std::move(images)));
  image->identity_ = identity_;
  image->shows_zeros_ = shows_zeros_;
  image->geometry_ = geometry_;
  return image;
}

std::unique_ptr<CrashDevice> CrashDevice::ImageWithLogsOf(const CrashDevice& logs) const {
  const std::unique_ptr<CrashDevice> other = logs.Image(LossPolicy::KeepAll());
  std::unique_ptr<CrashDevice> image = Image(LossPolicy::KeepAll());
  MutexLock lock(image->mutex_);
  MutexLock other_lock(other->mutex_);
  for (std::uint32_t i = geometry_.main_zones(); i < geometry_.zone_count; ++i) {
    image->zones_[i] = other->zones_[i];
    if (!image->machine_.Restore(ZoneId(i), other->zones_[i].live.state).ok())
      FailAssertion("CrashDevice: impossible zone state\n");
  }
  return image;
}

bool CrashDevice::Rot(DeviceOffset place, std::byte bits) {
  MutexLock lock(mutex_);
  const ZoneId zone = geometry_.ZoneOf(place);
  const std::uint64_t byte = place - geometry_.ZoneStart(zone);
  const std::uint64_t block = byte / geometry_.block_size;
  ZoneHistory& history = zones_[zone.value];
  Blocks& live = history.live.blocks;
  Blocks& durable = history.durable.blocks;
  if (block >= live.size() || block >= durable.size() || live[block] == nullptr ||
      live[block] != durable[block] || live[block]->unreadable)
    return false;
  auto rotten = std::make_shared<Block>(*live[block]);
  rotten->bytes[byte % geometry_.block_size] ^= bits;
  live[block] = durable[block] = std::move(rotten);
  return true;
}

void CrashDevice::DropCache(std::uint64_t seed) {
  MutexLock lock(mutex_);
  Random random(seed);
  for (ZoneHistory& zone : zones_) {
    for (ZoneCommand& drop : RandomDrops(zone, geometry_.block_size, random)) {
      zone.Add(std::move(drop));
      dropped_ = true;
    }
  }
}

bool CrashDevice::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

Status CrashDevice::SetCondition(ZoneId zone, ZoneCondition condition) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(machine_.SetCondition(zone, condition));
  ZoneHistory& history = zones_[zone.value];
  history.Add({ZoneCommand::Kind::kState, 0, {}, machine_.state(zone)});
  history.Flush();
  return {};
}

Result<std::vector<ZoneInfo>> CrashDevice::Report(ZoneId first, std::uint32_t count) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(CheckPower());
  ZENFS_RETURN_IF_ERROR(CheckZoneRange(name_, geometry_, first, count));
  std::vector<ZoneInfo> zones;
  for (std::uint32_t i = 0; i < count; ++i) zones.push_back(machine_.Info(ZoneId(first.value + i)));
  return zones;
}

std::uint64_t CrashDevice::KnownZeros(DeviceOffset from, std::uint64_t length) {
  MutexLock lock(mutex_);
  if (!shows_zeros_ || !CheckPower().ok() || from.value >= geometry_.size_bytes()) return 0;
  const ZoneId zone = geometry_.ZoneOf(from);
  const ZoneImage& live = zones_[zone.value].live;
  if (live.state.condition == ZoneCondition::kOffline) return 0;
  const std::uint64_t begin = from - geometry_.ZoneStart(zone);
  const std::uint64_t end = std::min(begin + RoundDown(length, geometry_.block_size), geometry_.zone_size);
  std::uint64_t at = begin;
  for (; at < end; at += geometry_.block_size) {
    const std::uint64_t block = at / geometry_.block_size;
    const Block* found = block < live.blocks.size() ? live.blocks[block].get() : nullptr;
    if (found != nullptr && (found->unreadable || !IsZeros(found->bytes))) break;
  }
  return at - begin;
}

Status CrashDevice::Read(DeviceOffset offset, ByteSpan into) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(CheckPower());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name_, geometry_, "read", offset));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "read", into));
  const ZoneId zone = geometry_.ZoneOf(offset);
  std::uint64_t block = (offset - geometry_.ZoneStart(zone)) / geometry_.block_size;
  const auto stored = machine_.CheckRead(zone, block, into.size() / geometry_.block_size);
  if (!stored) return Fail(stored.error());
  const Blocks& blocks = zones_[zone.value].live.blocks;
  for (; !into.empty(); into = into.subspan(geometry_.block_size), ++block) {
    const Block* found = block < blocks.size() ? blocks[block].get() : nullptr;
    if (found == nullptr) {
      std::memset(into.data(), 0, geometry_.block_size);
    } else if (found->unreadable) {
      return Fail(Code::kIo, fmt::format("{}: zone {} block {} is unreadable", name_, zone.value, block),
                  EIO);
    } else {
      std::memcpy(into.data(), found->bytes.data(), geometry_.block_size);
    }
  }
  return {};
}

Status CrashDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(BeginChange());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name_, geometry_, "write", offset));
  for (const ByteView piece : pieces) ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "write", piece));
  const ZoneId zone = geometry_.ZoneOf(offset);
  const std::uint64_t block = (offset - geometry_.ZoneStart(zone)) / geometry_.block_size;
  Blocks blocks = Cut(pieces, geometry_.block_size);
  ZENFS_RETURN_IF_ERROR(machine_.BeginWrite(zone, block, blocks.size()));
  RecordWrite(zone, block, std::move(blocks));
  return {};
}

Result<DeviceOffset> CrashDevice::Append(ZoneId zone, ByteView bytes) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(BeginChange());
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name_, geometry_, zone));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "append", bytes));
  if (bytes.size() > geometry_.max_append_bytes) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: append of {} bytes, the device takes at most {}",
                                                    name_, bytes.size(), geometry_.max_append_bytes));
  }
  Blocks blocks = Cut(std::span(&bytes, 1), geometry_.block_size);
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t block, machine_.BeginAppend(zone, blocks.size()));
  RecordWrite(zone, block, std::move(blocks));
  return geometry_.ZoneStart(zone) + block * geometry_.block_size;
}

Status CrashDevice::Reset(ZoneId zone) { return Manage(zone, &ZoneMachine::Reset); }
Status CrashDevice::Finish(ZoneId zone) { return Manage(zone, &ZoneMachine::Finish); }
Status CrashDevice::Open(ZoneId zone) { return Manage(zone, &ZoneMachine::Open); }
Status CrashDevice::Close(ZoneId zone) { return Manage(zone, &ZoneMachine::Close); }
Status CrashDevice::OpenRandom(ZoneId zone) { return Manage(zone, &ZoneMachine::OpenRandom); }
Status CrashDevice::CommitRandom(DeviceOffset to) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone, CheckCommit(name_, geometry_, to));
  const std::uint64_t block = (to - geometry_.ZoneStart(zone)) / geometry_.block_size;
  return Manage(zone, [&](ZoneMachine& machine, ZoneId) { return machine.CommitRandom(zone, block); });
}

Status CrashDevice::Flush() { return FlushZones(0, geometry_.zone_count); }

Status CrashDevice::FlushDeviceOf(ZoneId zone) {
  if (geometry_.OnLogDevice(zone)) return FlushZones(geometry_.main_zones(), geometry_.zone_count);
  return FlushZones(0, geometry_.main_zones());
}

Status CrashDevice::FlushZones(std::uint32_t first, std::uint32_t end) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(BeginChange());
  for (std::uint32_t i = first; i < end; ++i) zones_[i].Flush();
  ++commands_;
  return {};
}

std::unique_ptr<IoQueue> CrashDevice::CreateQueue(std::size_t) {
  return std::make_unique<ImmediateQueue>(*this);
}

Status CrashDevice::CheckPower() const {
  if (!stopped_) return {};
  return Fail(Code::kIo, fmt::format("{}: power lost", name_), EIO);
}

Status CrashDevice::BeginChange() {
  if (stop_after_ && commands_ >= *stop_after_) {
    stopped_ = true;
    if (const auto call = std::exchange(on_stop_, nullptr)) call();
  }
  return CheckPower();
}

Status CrashDevice::Manage(ZoneId zone, const Management& command) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(BeginChange());
  ZENFS_RETURN_IF_ERROR(command(machine_, zone));
  RecordOthers(zone);
  if (!machine_.changed().empty()) {
    const MachineZone after = machine_.state(zone);
    const bool reset = after.condition == ZoneCondition::kEmpty;
    zones_[zone.value].Add({reset ? ZoneCommand::Kind::kReset : ZoneCommand::Kind::kState, 0, {}, after});
  }
  ++commands_;
  return {};
}

// Records the zones that lost their open slot to `zone`.
void CrashDevice::RecordOthers(ZoneId zone) {
  for (const ZoneId other : machine_.changed()) {
    if (other != zone) zones_[other.value].Add({ZoneCommand::Kind::kState, 0, {}, machine_.state(other)});
  }
}

void CrashDevice::RecordWrite(ZoneId zone, std::uint64_t block, Blocks blocks) {
  RecordOthers(zone);
  const bool random = machine_.state(zone).random_area;
  machine_.CommitWrite(zone, block, blocks.size());
  zones_[zone.value].Add({random ? ZoneCommand::Kind::kRandom : ZoneCommand::Kind::kWrite, block,
                          std::move(blocks), machine_.state(zone)});
  ++commands_;
}

}  // namespace zenfs
