// Where an emulated device keeps its blocks and its zone states: in memory (emulator.cc) or in a file (file_store.h).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backends/emulator/zone_machine.h"
#include "base/bytes.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/units.h"

namespace zenfs {

// A set of blocks among the 64 from some block on: bit `block % 64` stands for `block`. Whoever moves the first block must
// remove the blocks that he passes, since their bits then stand for others.
using BlockSet = std::uint64_t;
inline constexpr std::uint64_t kBlockSetSize = 64;

constexpr BlockSet BitOf(std::uint64_t block) { return BlockSet{1} << (block % kBlockSetSize); }

// The blocks of `set`, which begins at `from`, that are not below `to`.
constexpr BlockSet WithoutBelow(BlockSet set, std::uint64_t from, std::uint64_t to) {
  if (to - from >= kBlockSetSize) return 0;
  for (; from < to; ++from) set &= ~BitOf(from);
  return set;
}

// The blocks of a zone that survive a power loss of a device with a volatile cache: all below `prefix`, and in a random
// write area some of those behind it.
struct DurableBlocks {
  std::uint64_t prefix = 0;  // blocks from the start of the zone
  BlockSet area = 0;         // from `prefix` on

  constexpr bool Contains(std::uint64_t block) const {
    return block < prefix || (block - prefix < kBlockSetSize && (area & BitOf(block)) != 0);
  }
  // The end of the last durable block.
  constexpr std::uint64_t end() const {
    if (area == 0) return prefix;
    return prefix + kBlockSetSize -
           static_cast<std::uint64_t>(
               std::countl_zero(std::rotr(area, static_cast<int>(prefix % kBlockSetSize))));
  }
  friend bool operator==(const DurableBlocks&, const DurableBlocks&) = default;
};

static_assert(DurableBlocks{3, BitOf(5)}.Contains(2) && !DurableBlocks{3, BitOf(5)}.Contains(3));
static_assert(DurableBlocks{3, BitOf(5)}.Contains(5) && !DurableBlocks{3, BitOf(5)}.Contains(69));
static_assert(DurableBlocks{3, BitOf(5)}.end() == 6 && DurableBlocks{60, BitOf(66)}.end() == 67);
static_assert(WithoutBelow(BitOf(66) | BitOf(70), 60, 67) == BitOf(70));

// Enforces no rules of zones.
//
// Threads: any. The caller serializes accesses to the same blocks, and all calls that save or load
// states and durable blocks. Offsets and lengths are in bytes within a zone.
class Store {
 public:
  virtual ~Store() = default;

  // ZonedDevice::IsGone.
  virtual bool IsGone() const { return false; }
  // Bytes that were never written, or were discarded, read as zeros.
  [[nodiscard]] virtual Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) = 0;
  // See ZonedDevice::KnownZeros. The range may reach beyond the zone.
  virtual std::uint64_t KnownZeros(ZoneId /*zone*/, std::uint64_t /*offset*/,
                                   std::uint64_t /*length*/) const {
    return 0;
  }
  // Writes the pieces contiguously. They survive the death of the process on return. kIo with the
  // errno, also if the host has no space left: a zoned device has no such error.
  [[nodiscard]] virtual Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) = 0;
  // Frees the space of the zone. Called after the saved state says that the zone is empty.
  [[nodiscard]] virtual Status Discard(ZoneId zone) = 0;
  // Makes all blocks of the zone zeros, also if the host can't free their space.
  [[nodiscard]] virtual Status Clear(ZoneId zone) = 0;

  // Atomic; survives the death of the process on return. After an error the saved state is the old
  // or the new one, and the store is unusable: every Check fails.
  [[nodiscard]] virtual Status SaveState(ZoneId zone, MachineZone state) = 0;
  // Loads the states of the zones from `first` on. Each was valid at some moment. kCorruption if a
  // word is no valid state.
  [[nodiscard]] virtual Status LoadStates(ZoneId first, std::span<MachineZone> into) const = 0;
  [[nodiscard]] Result<MachineZone> LoadState(ZoneId zone) const {
    MachineZone state;
    ZENFS_RETURN_IF_ERROR(LoadStates(zone, std::span(&state, 1)));
    return state;
  }

  // Whether the store records the durable blocks of each zone, which a power loss of the device does
  // not take. The next two functions are for such stores only.
  virtual bool has_volatile_cache() const { return false; }
  // Like SaveState, but the prefix and the blocks of the area change one after the other: the death of the process may
  // leave the new prefix and, behind it, blocks of the area that are not durable.
  [[nodiscard]] virtual Status SaveDurable(ZoneId /*zone*/, DurableBlocks /*blocks*/) { return {}; }
  virtual DurableBlocks LoadDurable(ZoneId /*zone*/) const { return {}; }

  // kIo if the store is unusable: its data is no longer valid and nothing may be written to it.
  // Called before each command that writes.
  [[nodiscard]] virtual Status Check() const { return {}; }

  // See ZonedDevice::identity.
  virtual std::string Identity() const = 0;
  // See ZonedDevice::owner.
  virtual std::optional<DeviceOwner> Owner() const { return std::nullopt; }

  // Makes all of the above durable on the host's stable media, if the store was opened with that
  // option.
  [[nodiscard]] virtual Status Sync() = 0;
};

}  // namespace zenfs
