#include "image_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "testing/immediate_queue.h"

namespace zenfs {
namespace {

// The nearest valid state of a zone with `capacity` blocks.
MachineZone Possible(MachineZone state, std::uint64_t capacity) {
  state.written = std::min(state.written, capacity);
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer: state.condition = ZoneCondition::kEmpty; [[fallthrough]];
    case ZoneCondition::kEmpty: state.written = 0; break;
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed:
      if (state.written == capacity) state.condition = ZoneCondition::kFull;
      break;
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly:
    case ZoneCondition::kOffline: break;
  }
  return state;
}

Geometry SplitGeometry(Geometry geometry, const ImageLogDevice& log_device) {
  geometry.log_zones = log_device.zones;
  geometry.log_max_open = geometry.max_open == 0 ? 0 : log_device.active;
  geometry.log_max_active = geometry.max_active == 0 ? 0 : log_device.active;
  geometry.max_open -= geometry.log_max_open;
  geometry.max_active -= geometry.log_max_active;
  return geometry;
}

}  // namespace

ImageDevice::ImageDevice(const EmulatorGeometry& geometry, OpenMode mode, std::string identity,
                         ImageLogDevice log_device)
    : shape_(geometry),
      geometry_(SplitGeometry(ToDeviceGeometry(geometry, true), log_device)),
      mode_(mode),
      identity_(std::move(identity)),
      machine_(geometry),
      bytes_(geometry_.size_bytes()),
      broken_(geometry_.size_bytes() / geometry.block_size) {}

void ImageDevice::LoadZone(ZoneId id, const Image::Zone& zone) {
  const std::uint64_t start = id.value * geometry_.zone_size;
  const std::uint64_t capacity = shape_.capacity() / geometry_.block_size;
  const bool conventional = id.value < shape_.conventional;
  const MachineZone state = conventional
                                ? MachineZone{.condition = ZoneCondition::kNotWritePointer, .written = 0}
                                : Possible(zone.state, capacity);
  // Blocks beyond the written ones can't be read.
  const std::size_t written = state.written * geometry_.block_size;
  const std::size_t given = std::min(zone.bytes.size(), written);
  if (given != 0) std::memcpy(bytes_.data() + start, zone.bytes.data(), given);
  std::memset(bytes_.data() + start + given, 0, written - given);
  const auto blocks = broken_.begin() + static_cast<std::ptrdiff_t>(start / geometry_.block_size);
  std::fill_n(blocks, geometry_.zone_size / geometry_.block_size, std::uint8_t{0});
  for (const std::uint64_t block : zone.broken) {
    if (block < capacity) blocks[static_cast<std::ptrdiff_t>(block)] = 1;
  }
  Status restored = machine_.Restore(id, state);
  if (!restored.ok()) std::abort();  // Possible is wrong
}

void ImageDevice::Load(const Image& image) {
  MutexLock lock(mutex_);
  changes_ = 0;
  for (std::uint32_t i = 0; i < shape_.zones && i < image.zones.size(); ++i)
    LoadZone(ZoneId(i), image.zones[i]);
}

ImageDevice::Image ImageDevice::Save() const {
  MutexLock lock(mutex_);
  Image image;
  for (std::uint32_t i = 0; i < shape_.zones; ++i) {
    Image::Zone& zone = image.zones.emplace_back();
    zone.state = machine_.state(ZoneId(i));
    const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(i * geometry_.zone_size);
    zone.bytes.assign(start, start + static_cast<std::ptrdiff_t>(zone.state.written * geometry_.block_size));
    const std::uint64_t first_block = i * geometry_.zone_size / geometry_.block_size;
    for (std::uint64_t block = 0; block < zone.state.written; ++block) {
      if (broken_[first_block + block] != 0) zone.broken.push_back(block);
    }
  }
  return image;
}

std::uint64_t ImageDevice::changes() const {
  MutexLock lock(mutex_);
  return changes_;
}

Result<ImageDevice::Place> ImageDevice::Locate(DeviceOffset offset, std::uint64_t bytes) const {
  const std::uint64_t block = geometry_.block_size;
  const bool fits = offset.value < geometry_.size_bytes() && bytes <= geometry_.size_bytes() - offset.value;
  if (!fits || !IsMultiple(offset.value, block) || !IsMultiple(bytes, block)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} bytes at {} are not on this device", bytes, offset.value));
  }
  const ZoneId zone = geometry_.ZoneOf(offset);
  return Place{.zone = zone, .block = (offset - geometry_.ZoneStart(zone)) / block, .count = bytes / block};
}

Status ImageDevice::CheckWritable() const {
  if (mode_ == OpenMode::kExclusive) return {};
  return Fail(Code::kReadOnly, "the image is open read-only");
}

Result<std::vector<ZoneInfo>> ImageDevice::Report(ZoneId first, std::uint32_t count) {
  MutexLock lock(mutex_);
  if (first.value >= shape_.zones || count > shape_.zones - first.value) {
    return Fail(Code::kInvalidArgument, fmt::format("there are no {} zones from {}", count, first.value));
  }
  std::vector<ZoneInfo> zones;
  zones.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) zones.push_back(machine_.Info(ZoneId(first.value + i)));
  return zones;
}

Status ImageDevice::Read(DeviceOffset offset, ByteSpan into) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(offset, into.size()));
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t on_medium,
                         machine_.CheckRead(place.zone, place.block, place.count));
  const auto blocks = broken_.begin() + static_cast<std::ptrdiff_t>(offset.value / geometry_.block_size);
  if (std::find(blocks, blocks + static_cast<std::ptrdiff_t>(place.count), 1) !=
      blocks + static_cast<std::ptrdiff_t>(place.count)) {
    return Fail(Code::kIo, fmt::format("a block at {} can't be read", offset.value), EIO);
  }
  const std::size_t there = on_medium * geometry_.block_size;
  if (there != 0) std::memcpy(into.data(), bytes_.data() + offset.value, there);
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
  return {};
}

void ImageDevice::Store(const Place& place, std::span<const ByteView> pieces) {
  std::uint64_t at = place.zone.value * geometry_.zone_size + place.block * geometry_.block_size;
  for (const ByteView piece : pieces) {
    std::memcpy(bytes_.data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  const std::uint64_t first = (place.zone.value * geometry_.zone_size) / geometry_.block_size + place.block;
  std::fill_n(broken_.begin() + static_cast<std::ptrdiff_t>(first), place.count, std::uint8_t{0});
  machine_.CommitWrite(place.zone, place.block, place.count);
  ++changes_;
}

Status ImageDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  std::uint64_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(offset, bytes));
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(machine_.BeginWrite(place.zone, place.block, place.count));
  Store(place, pieces);
  return {};
}

Result<DeviceOffset> ImageDevice::Append(ZoneId zone, ByteView bytes) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  const std::uint64_t count = bytes.size() / geometry_.block_size;
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t block, machine_.BeginAppend(zone, count));
  Store({.zone = zone, .block = block, .count = count}, std::span(&bytes, 1));
  return geometry_.ZoneStart(zone) + block * geometry_.block_size;
}

Status ImageDevice::Reset(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(machine_.Reset(zone));
  const std::uint64_t blocks = geometry_.zone_size / geometry_.block_size;
  std::fill_n(broken_.begin() + static_cast<std::ptrdiff_t>(zone.value * blocks), blocks, std::uint8_t{0});
  ++changes_;
  return {};
}

Status ImageDevice::Finish(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  MutexLock lock(mutex_);
  ++changes_;
  return machine_.Finish(zone);
}

Status ImageDevice::Open(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  MutexLock lock(mutex_);
  return machine_.Open(zone);
}

Status ImageDevice::Close(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  MutexLock lock(mutex_);
  return machine_.Close(zone);
}

std::unique_ptr<IoQueue> ImageDevice::CreateQueue(std::size_t /*depth*/) {
  return std::make_unique<ImmediateQueue>(*this);
}

}  // namespace zenfs
