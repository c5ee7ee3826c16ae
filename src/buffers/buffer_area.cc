#include "buffers/buffer_area.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/boot_id.h"
#include "base/clock.h"
#include "base/random.h"
#include "buffers/buffer_area_place.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kFurnishedAtOnce = 2;  // the buffers of one framed file

// Not from Random, whose numbers are predictable.
void MakeKey(BufferAreaHeader& header) {
  const std::uint64_t words[] = {RandomSeed(), RandomSeed()};
  static_assert(sizeof(words) == sizeof(header.key) && sizeof(words) == kBufferKeyBytes);
  std::memcpy(header.key, words, sizeof(words));
}

}  // namespace

Result<std::shared_ptr<BufferArea>> BufferArea::Create(const Options& options) {
  BufferAreaHeader header{};
  std::uint64_t metrics_bytes = options.metrics_bytes;
  LayOutResets(header, metrics_bytes, options.zones);
  LayOutBufferArea(header, options.slots, options.buffer_bytes, metrics_bytes);
  header.epoch = options.epoch;
  header.created_seconds = WallSeconds();
  header.process = static_cast<std::uint32_t>(getpid());
  std::memcpy(header.volume, options.volume.bytes.data(), sizeof(header.volume));
  if (options.identity.size() >= sizeof(header.identity)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: the identity of the device is too long", options.identity));
  }
  std::memcpy(header.identity, options.identity.data(), options.identity.size());
  MakeKey(header);
  const std::string name = fmt::format("{}{:016x}", BufferAreaNamePrefix(options.identity), RandomSeed());
  std::string place = BufferAreaPlace{.boot = BootId(), .path = options.directory + "/" + name}.ToText();
  if (place.size() > kMaxPlaceBytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: the path of this directory is too long", options.directory));
  }
  const std::uint64_t allocated =
      header.buffers_offset + std::min(header.slots, kFurnishedAtOnce) * header.buffer_bytes;
  const auto create = [&] {
    return SharedMemory::Create(options.directory, name, BufferAreaBytes(header), allocated);
  };
  Result<SharedMemory> made = create();
  // `zenfs buffers --remove` holds the lock of this directory.
  if (!made && made.error().code() == Code::kBusy) made = create();
  if (!made) return Fail(made.error());
  SharedMemory memory = *std::move(made);
  SealBufferAreaHeader(memory.memory(), header);
  return std::shared_ptr<BufferArea>(
      new BufferArea(std::move(memory), header, options.volume, std::move(place)));
}

BufferArea::BufferArea(SharedMemory memory, const BufferAreaHeader& header, const Uuid& volume,
                       std::string place)
    : memory_(std::move(memory)),
      header_(header),
      volume_(volume),
      place_(std::move(place)),
      maker_(geteuid()) {
  MutexLock lock(mutex_);
  for (std::uint32_t slot = header.slots; slot-- > 0;) {
    new (&Control(slot)) BufferAreaControl{};
    free_.push_back(slot);
  }
  furnished_.resize(header.slots);
  std::fill_n(furnished_.begin(), std::min(header.slots, kFurnishedAtOnce), std::uint8_t{1});
  NoteFree();
}

SetBufferPlace BufferArea::PlaceEdit() const {
  return {.place = place_,
          .key = std::string(reinterpret_cast<const char*>(header_.key), sizeof(header_.key)),
          .maker = maker_};
}

std::uint32_t BufferArea::TakeSlot() {
  if (retired() || free_count_.load(std::memory_order_relaxed) == 0) return kNoSlot;
  std::uint32_t slot = kNoSlot;
  {
    MutexLock lock(mutex_);
    slot = TakeSlotLocked();
  }
  return slot != kNoSlot && Furnish(slot) ? slot : kNoSlot;
}

std::uint32_t BufferArea::TakeSlotLocked() {
  if (free_.empty()) return kNoSlot;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  NoteFree();
  return slot;
}

bool BufferArea::Furnish(std::uint32_t slot) {
  {
    MutexLock lock(mutex_);
    if (furnished_[slot] != 0) return true;
  }
  // Without the lock: the kernel clears the pages.
  const bool done =
      memory_.Allocate(header_.buffers_offset + slot * header_.buffer_bytes, header_.buffer_bytes).ok();
  MutexLock lock(mutex_);
  if (done) {
    furnished_[slot] = 1;
    return true;
  }
  // A failed attempt costs the time of a successful one: there is no other.
  tails_.erase(slot);
  tail_count_.store(tails_.size(), std::memory_order_release);
  std::erase_if(free_, [&](std::uint32_t other) REQUIRES(mutex_) { return furnished_[other] == 0; });
  NoteFree();
  return false;
}

void BufferArea::NoteFree() {
  free_count_.store(static_cast<std::uint32_t>(free_.size()), std::memory_order_relaxed);
}

std::uint32_t BufferArea::TakeTailSlot(std::uint64_t owner) {
  if (retired() || free_count_.load(std::memory_order_relaxed) == 0) return kNoSlot;
  std::uint32_t slot = kNoSlot;
  {
    MutexLock lock(mutex_);
    slot = TakeSlotLocked();
    if (slot == kNoSlot) return slot;
    tails_[slot] = {.owner = owner};
    tail_count_.store(tails_.size(), std::memory_order_release);
  }
  return Furnish(slot) ? slot : kNoSlot;
}

void BufferArea::ReturnSlot(std::uint32_t slot) {
  if (fork_guard_.InChild()) return;  // the child has no mapping, and the lock may be held for ever
  MutexLock lock(mutex_);
  ReturnSlotLocked(slot);
}

void BufferArea::ReturnSlotLocked(std::uint32_t slot) {
  ZENFS_ASSERT(slot < header_.slots && std::ranges::find(free_, slot) == free_.end());
  ZENFS_ASSERT(Control(slot).published.load(std::memory_order_relaxed) == 0);
  free_.push_back(slot);
  NoteFree();
  if (tails_.erase(slot) != 0) tail_count_.store(tails_.size(), std::memory_order_release);
}

void BufferArea::GiveUpSlot(std::uint32_t slot, std::shared_ptr<const void> held) {
  if (fork_guard_.InChild()) return;
  MutexLock lock(mutex_);
  if (Control(slot).published.load(std::memory_order_relaxed) == 0)
    return ReturnSlotLocked(slot);  // Forget has emptied it
  tails_[slot].given_up = true;
  tails_[slot].held = std::move(held);
}

void BufferArea::Forget(std::uint64_t owner) {
  if (tail_count_.load(std::memory_order_acquire) == 0) return;
  std::vector<std::shared_ptr<const void>> held;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  std::vector<std::uint32_t> unused;
  for (auto& [slot, tail] : tails_) {
    if (tail.owner != owner) continue;
    Control(slot).published.store(0, std::memory_order_release);
    if (!tail.given_up) continue;
    unused.push_back(slot);
    held.push_back(std::move(tail.held));
  }
  for (const std::uint32_t slot : unused) ReturnSlotLocked(slot);
}

bool BufferArea::HasGivenUp() const {
  MutexLock lock(mutex_);
  return std::ranges::any_of(tails_, [](const auto& entry) { return entry.second.given_up; });
}

void BufferArea::NoteReset(ZoneId zone) {
  if (zone.value >= header_.zones || fork_guard_.InChild()) return;
  std::byte* const at = memory_.memory().data() + header_.resets_offset + zone.value * sizeof(std::uint32_t);
  // Sequentially consistent: readers see the count before the device sees the reset.
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(at))
      .fetch_add(1, std::memory_order_seq_cst);
}

BufferAreaControl& BufferArea::Control(std::uint32_t slot) {
  std::byte* const at = memory_.memory().data() + header_.controls_offset + slot * sizeof(BufferAreaControl);
  return *std::launder(reinterpret_cast<BufferAreaControl*>(at));
}

ByteSpan BufferArea::Buffer(std::uint32_t slot) {
  return memory_.memory().subspan(header_.buffers_offset + slot * header_.buffer_bytes, header_.buffer_bytes);
}

}  // namespace zenfs
