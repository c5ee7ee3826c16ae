// Stores the blocks and the zone states of an emulated device. Enforces no rules of zones.
//
// Threads: any. The caller serializes accesses to the same blocks, and all calls that save or load
// states and durable blocks. Offsets and lengths are in bytes within a zone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backends/emulator/durable_blocks.h"
#include "backends/emulator/zone_state.h"
#include "base/bytes.h"
#include "base/status.h"
#include "device/device_owner.h"
#include "model/units.h"

namespace zenfs {

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
