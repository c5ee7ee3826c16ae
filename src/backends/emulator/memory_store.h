// Blocks in memory, allocated per zone at its first write.
#pragma once

#include <memory>
#include <vector>

#include "backends/emulator/store.h"
#include "base/mutex.h"

namespace zenfs {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const EmulatorGeometry& geometry);

  Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) override;
  Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) override;
  Status Discard(ZoneId zone) override;
  Status Clear(ZoneId zone) override { return Discard(zone); }
  Status SaveState(ZoneId zone, MachineZone state) override;
  Status LoadStates(ZoneId first, std::span<MachineZone> into) const override;
  std::string Identity() const override { return ""; }
  Status Sync() override { return {}; }

 private:
  // Shared with reads in progress, so that a reset frees no memory that a read still uses.
  using Block = std::shared_ptr<std::byte>;

  Block Find(ZoneId zone) const EXCLUDES(mutex_);
  Block FindOrAllocate(ZoneId zone) EXCLUDES(mutex_);

  const EmulatorGeometry geometry_;
  std::vector<MachineZone> states_;
  mutable Mutex mutex_{LockRank::kLeaf};
  std::vector<Block> zones_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
