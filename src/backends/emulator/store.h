// Where the blocks and the zone states of an emulated device live. Knows no rules: it keeps what it is told
// to.
//
// Threads: every call from any thread; accesses to the same blocks are kept apart by the caller, and so are all calls that
// save or load states and durable blocks. Offsets and lengths are bytes within a zone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backends/emulator/zone_machine.h"
#include "base/bytes.h"
#include "base/status.h"
#include "model/units.h"

namespace zenfs {

class Store {
 public:
  virtual ~Store() = default;

  // What was never written, or was discarded, reads as zeros.
  [[nodiscard]] virtual Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) = 0;
  // The pieces one behind the other. Survives the death of the process when it returns. kIo with the errno,
  // also for a host that has no space left: a zoned device does not know that error.
  [[nodiscard]] virtual Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) = 0;
  // Gives the space of the zone back. Called after the zone's state says that nothing is in it.
  [[nodiscard]] virtual Status Discard(ZoneId zone) = 0;

  // Changes as a whole; survives the death of the process when it returns. Behind an error the state that is saved is the
  // old or the new one, and the store is gone: each Check fails.
  [[nodiscard]] virtual Status SaveState(ZoneId zone, MachineZone state) = 0;
  // Of the zones from `first` on; each is right at some moment. kCorruption if what stands there is no state.
  [[nodiscard]] virtual Status LoadStates(ZoneId first, std::span<MachineZone> into) const = 0;
  [[nodiscard]] Result<MachineZone> LoadState(ZoneId zone) const {
    MachineZone state;
    ZENFS_RETURN_IF_ERROR(LoadStates(zone, std::span(&state, 1)));
    return state;
  }

  // Whether the store keeps count of the durable blocks of each zone: those that a loss of the device's power leaves
  // alone. The next two are for such stores only.
  virtual bool has_volatile_cache() const { return false; }
  // As SaveState.
  [[nodiscard]] virtual Status SaveDurable(ZoneId /*zone*/, std::uint64_t /*blocks*/) { return {}; }
  virtual std::uint64_t LoadDurable(ZoneId /*zone*/) const { return 0; }

  // kIo when the store is gone: nothing it says counts any more, and nothing must be written to it. Called before each
  // command that writes.
  [[nodiscard]] virtual Status Check() const { return {}; }

  // See ZonedDevice::identity.
  virtual std::string Identity() const = 0;
  // See ZonedDevice::owner.
  virtual std::optional<std::uint32_t> Owner() const { return std::nullopt; }

  // All of the above is on the host's stable media when this returns, if the store was asked to care.
  [[nodiscard]] virtual Status Sync() = 0;
};

}  // namespace zenfs
