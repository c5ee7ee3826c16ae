#include "file/extent_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

// The blocks of a usual read of RocksDB. A bounce buffer of this size is on the stack.
constexpr std::uint64_t kSmallBounceBytes = 16 << 10;

// Reads the `whole` bytes of blocks that hold the bytes at `place`, and copies these. They may be padded: an extent ends in its last block.
Status ReadBlocksAround(ZonedDevice& device, DeviceOffset place, ByteSpan into, std::uint64_t skip,
                        std::uint64_t whole) {
  alignas(AlignedBuffer::kAlignment) std::array<std::byte, kSmallBounceBytes> memory;
  const ByteSpan blocks = std::span(memory).first(whole);
  ZENFS_RETURN_IF_ERROR(device.Read(DeviceOffset(place.value - skip), blocks));
  std::memcpy(into.data(), blocks.data() + skip, into.size());
  return {};
}

// The error of a device read of `length` bytes at `place`.
Error ReadError(const Geometry& geometry, const Error& error, DeviceOffset place, std::uint64_t length,
                std::uint64_t file_offset) {
  return error.With(fmt::format("reading {} bytes at file offset {} from zone {} at device offset {}", length,
                                file_offset, geometry.ZoneOf(place).value, place.value));
}

// Whether the device can read whole blocks from `place` into this memory.
bool MayReadInPlace(const Geometry& geometry, DeviceOffset place, ByteView into) {
  const std::size_t alignment = std::min<std::size_t>(geometry.block_size, AlignedBuffer::kAlignment);
  return IsMultiple(place.value, geometry.block_size) &&
         IsMultiple(reinterpret_cast<std::uintptr_t>(into.data()), alignment);
}

}  // namespace

Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset, ByteSpan into,
                   ReadSource source) {
  // Nearly all reads lie in one extent, and can be made without a plan and an allocation.
  const auto it = FindExtent(extents, offset);
  if (!into.empty() && it != extents.end() && it->file_offset <= offset &&
      into.size() <= it->end() - offset) {
    const DeviceOffset place = it->place + (offset - it->file_offset);
    const Geometry& geometry = device.geometry();
    if (HostCache* const cache = source == ReadSource::kCache ? device.host_cache() : nullptr) {
      CachedRead read{place, into, {}};
      cache->Read(std::span(&read, 1));
      if (read.status.ok()) return {};
      source = ReadSource::kDevice;
    }
    const std::uint64_t skip = place.value % geometry.block_size;
    const std::uint64_t whole = RoundUp(skip + into.size(), geometry.block_size);
    const bool in_place = whole == into.size() && MayReadInPlace(geometry, place, into);
    if (in_place || whole <= kSmallBounceBytes) {
      const Status read =
          in_place ? device.Read(place, into) : ReadBlocksAround(device, place, into, skip, whole);
      return read.ok() ? Status() : Fail(ReadError(geometry, read.error(), place, into.size(), offset));
    }
  }
  ReadRequest request{offset, into, {}};
  ReadExtentsMany(device, extents, std::span<ReadRequest>(&request, 1), source);
  return std::move(request.status);
}

void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests,
                     ReadSource source) {
  ReadBatch(device).Read(extents, requests, source);
}

void AdviseExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                   std::uint64_t length, CacheAdvice advice) {
  HostCache* const cache = device.host_cache();
  if (cache == nullptr) return;
  ForEachPiece(extents, offset, length,
               [&](DeviceOffset place, std::uint64_t, std::uint64_t n) { cache->Advise(place, n, advice); });
}

// --- ReadBatch ---

void ReadBatch::Read(std::span<const Extent> extents, std::span<ReadRequest> requests, ReadSource source) {
  HostCache* const cache = source == ReadSource::kCache ? device_.host_cache() : nullptr;
  if (cache == nullptr) return ReadFromDevice(extents, requests);
  ReadThrough(*cache, extents, requests);
  if (std::ranges::all_of(requests, [](const ReadRequest& request) { return request.status.ok(); })) return;
  std::vector<ReadRequest> left;
  std::vector<ReadRequest*> owners;
  for (ReadRequest& request : requests) {
    if (request.status.ok()) continue;
    left.push_back({request.offset, request.into, {}});
    owners.push_back(&request);
  }
  ReadFromDevice(extents, left);
  for (std::size_t i = 0; i < left.size(); ++i) owners[i]->status = std::move(left[i].status);
}

// Requests that the cache can't read are left to the caller, with a status that is not OK.
void ReadBatch::ReadThrough(HostCache& cache, std::span<const Extent> extents,
                            std::span<ReadRequest> requests) {
  ZENFS_ASSERT(cached_.empty());
  for (ReadRequest& request : requests) {
    request.status = {};
    const std::uint64_t end =
        ForEachPiece(extents, request.offset, request.into.size(),
                     [&](DeviceOffset place, std::uint64_t at, std::uint64_t n) {
                       if (cached_.size() >= kRoundCommands) RunCachedRound(cache);
                       cached_.push_back({place, request.into.subspan(at - request.offset, n), {}});
                       cached_owners_.push_back(&request);
                     });
    if (end != request.offset + request.into.size()) request.status = Fail(Code::kCorruption, "a gap");
  }
  RunCachedRound(cache);
}

void ReadBatch::RunCachedRound(HostCache& cache) {
  if (!cached_.empty()) cache.Read(cached_);
  for (std::size_t i = 0; i < cached_.size(); ++i) {
    if (!cached_[i].status.ok()) cached_owners_[i]->status = std::move(cached_[i].status);
  }
  cached_.clear();
  cached_owners_.clear();
}

void ReadBatch::ReadFromDevice(std::span<const Extent> extents, std::span<ReadRequest> requests) {
  Plan(extents, requests, Into::kCaller, [&] {
    if (bounce_bytes_ >= kRoundBounceBytes || commands_.size() >= kRoundCommands) RunRound();
  });
  RunRound();
}

template <typename MakeRoom>
void ReadBatch::Plan(std::span<const Extent> extents, std::span<ReadRequest> requests, Into memory,
                     const MakeRoom& make_room) {
  ZENFS_ASSERT(commands_.empty());
  for (ReadRequest& request : requests) {
    request.status = {};
    const std::uint64_t end =
        ForEachPiece(extents, request.offset, request.into.size(),
                     [&](DeviceOffset place, std::uint64_t at, std::uint64_t n) {
                       make_room();
                       PlanPiece(place, request.into.subspan(at - request.offset, n), at, request, memory);
                     });
    if (end == request.offset + request.into.size()) continue;
    while (!commands_.empty() && commands_.back().owner == &request) commands_.pop_back();
    request.status = Fail(Code::kCorruption, fmt::format("no extent contains file offset {}", end));
  }
}

void ReadBatch::PlanPiece(DeviceOffset place, ByteSpan into, std::uint64_t file_offset, ReadRequest& request,
                          Into memory) {
  const std::uint64_t block = device_.geometry().block_size;
  const bool in_place = memory == Into::kCaller && MayReadInPlace(device_.geometry(), place, into);
  const std::size_t direct = in_place ? RoundDown(into.size(), block) : 0;
  if (direct != 0) {
    Command& command = commands_.emplace_back();
    command.io.offset = place;
    command.io.read_into = into.first(direct);
    command.owner = &request;
    command.file_offset = file_offset;
    command.length = direct;
  }
  if (direct == into.size()) return;
  const DeviceOffset from = place + direct;
  const bool in_one_block = from.value % block + into.size() - direct <= block;
  const std::size_t blocks = in_one_block ? FindBlock(from, request) : kOwnBlocks;
  Command& command = commands_.emplace_back();
  command.copy_to = into.subspan(direct);
  command.skip = from.value % block;
  // The last block of an extent is padded on the device, so whole blocks can be read.
  command.length = RoundUp(command.skip + command.copy_to.size(), block);
  command.io.offset = DeviceOffset(from.value - command.skip);
  command.owner = &request;
  command.file_offset = file_offset + direct;
  command.blocks = blocks;
  if (blocks != kOwnBlocks) {
    command.skip = from - commands_[blocks].io.offset;
    return;
  }
  command.bounce_at = bounce_bytes_;
  bounce_bytes_ += RoundUp(command.length, AlignedBuffer::kAlignment);
}

std::size_t ReadBatch::FindBlock(DeviceOffset place, const ReadRequest& request) const {
  const std::size_t oldest = commands_.size() - std::min(commands_.size(), kSharedAmong);
  for (std::size_t i = commands_.size(); i-- > oldest;) {
    const std::size_t blocks = commands_[i].blocks == kOwnBlocks ? i : commands_[i].blocks;
    const Command& read = commands_[blocks];
    if (read.owner != &request || read.bounce_at == kInPlace) continue;
    if (read.io.offset <= place && place < read.io.offset + read.length) return blocks;
  }
  return kOwnBlocks;
}

void ReadBatch::RunRound() {
  PlaceBounces();
  if (commands_.size() == 1) {
    IoRequest& io = commands_.front().io;
    io.status = device_.Read(io.offset, io.read_into);
  } else if (!commands_.empty()) {
    SubmitTo(Queue(commands_.size()));
  }
  Finish();
}

void ReadBatch::PlaceBounces() {
  if (bounce_.capacity() < bounce_bytes_) bounce_ = AlignedBuffer(bounce_bytes_);
  for (Command& command : commands_) {
    if (command.bounce_at != kInPlace)
      command.io.read_into = bounce_.Whole().subspan(command.bounce_at, command.length);
  }
}

IoQueue& ReadBatch::Queue(std::size_t commands) {
  if (queue_ == nullptr || queue_depth_ < commands) {
    queue_depth_ = std::max(commands, kKeptDepth);
    queue_ = device_.CreateQueue(queue_depth_);
    done_.reserve(queue_depth_);
  }
  return *queue_;
}

void ReadBatch::SubmitTo(IoQueue& queue) {
  for (Command& command : commands_) {
    if (command.blocks == kOwnBlocks) queue.Submit(&command.io);
  }
}

void ReadBatch::Start(std::span<const Extent> extents, std::span<ReadRequest> requests) {
  std::uint64_t wanted = 0;
  for (const ReadRequest& request : requests) wanted += request.into.size();
  bool too_large = false;
  Plan(extents, requests, Into::kBatch, [&] {
    if (bounce_bytes_ <= 2 * wanted + kStartedBounceMax && commands_.size() < kStartedCommandsMax) return;
    too_large = true;
    commands_.clear();
    bounce_bytes_ = 0;
  });
  if (too_large) {
    commands_.clear();
    bounce_bytes_ = 0;
    return ReadFromDevice(extents, requests);
  }
  if (commands_.empty()) return;
  PlaceBounces();
  IoQueue& queue = Queue(commands_.size());
  SubmitTo(queue);
  queue.Reap(0, done_);
}

void ReadBatch::Finish() {
  if (queue_ != nullptr && queue_->in_flight() != 0) queue_->Reap(queue_->in_flight(), done_);
  done_.clear();
  CompleteAll();
}

void ReadBatch::CompleteAll() {
  for (Command& command : commands_) Complete(command);
  commands_.clear();
  ForgetBounce();
}

void ReadBatch::Complete(Command& command) const {
  const IoRequest& io = command.blocks == kOwnBlocks ? command.io : commands_[command.blocks].io;
  if (!io.status.ok()) {
    if (!command.owner->status.ok()) return;  // a request reports its first error
    command.owner->status = Fail(
        ReadError(device_.geometry(), io.status.error(), io.offset, command.length, command.file_offset));
    return;
  }
  if (!command.copy_to.empty())
    std::memcpy(command.copy_to.data(), io.read_into.data() + command.skip, command.copy_to.size());
}

bool ReadBatch::TryAbandon() {
  if (queue_ != nullptr && queue_->in_flight() != 0) {
    for (Command& command : commands_) command.io.given_up = true;
    queue_->Reap(0, done_);
    if (queue_->in_flight() != 0) return false;
  }
  done_.clear();
  commands_.clear();
  ForgetBounce();
  return true;
}

void ReadBatch::ForgetBounce() {
  bounce_bytes_ = 0;
  if (bounce_.capacity() > kKeptBounceBytes) bounce_ = {};
}

// --- ReadPool ---

ReadPool::ReadPool(ZonedDevice& device) : device_(device) {
  idle_.reserve(kIdleMax);
  given_up_.reserve(kGivenUpMax);
}

ReadPool::~ReadPool() { ZENFS_ASSERT(lent_.load() == 0); }

std::unique_ptr<ReadBatch> ReadPool::TakeIdle() {
  std::unique_ptr<ReadBatch> given_up;  // its destructor may wait for the device: after the lock
  {
    MutexLock lock(mutex_);
    if (!given_up_.empty()) {
      given_up = std::move(given_up_.front());
      given_up_.erase(given_up_.begin());
    }
  }
  // Without the lock: the outcome of a command may be one more command.
  if (given_up != nullptr && given_up->TryAbandon()) return given_up;
  MutexLock lock(mutex_);
  if (given_up != nullptr && given_up_.size() < kGivenUpMax)
    given_up_.insert(given_up_.begin(), std::move(given_up));
  if (idle_.empty()) return nullptr;
  std::unique_ptr<ReadBatch> batch = std::move(idle_.back());
  idle_.pop_back();
  return batch;
}

ReadPool::Lease ReadPool::Lend() {
  std::unique_ptr<ReadBatch> batch = TakeIdle();
  if (batch == nullptr) batch = std::make_unique<ReadBatch>(device_);
  lent_.fetch_add(1, std::memory_order_relaxed);
  return Lease(batch.release(), Return(this));
}

// Allocates nothing: a deleter must not fail.
void ReadPool::TakeBack(std::unique_ptr<ReadBatch> batch) {
  const bool idle = batch->TryAbandon();
  std::unique_ptr<ReadBatch> surplus;  // its destructor may wait for the device: after the lock
  lent_.fetch_sub(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  if (idle && idle_.size() == kIdleMax) {
    surplus = std::move(batch);
  } else if (idle) {
    idle_.push_back(std::move(batch));
  } else {
    if (given_up_.size() >= kGivenUpMax) {
      surplus = std::move(given_up_.front());
      given_up_.erase(given_up_.begin());
    }
    given_up_.push_back(std::move(batch));
  }
}

}  // namespace zenfs
