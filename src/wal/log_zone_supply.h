// Keeps the log supplied with zones.
//
// A background thread, "zenfs-log", allocates zones ahead of use, releases those that hold no live frame any more, and asks
// reclaim to clean those that hold little. Callers that can't wait for the thread do the same themselves: the leader of
// FrameWriter if no zone is ready (AllocateOne, ReleaseDead), and reclaim (ReleaseDead, GiveBackReady).
//
// Ownership: owns the thread. The parts in Deps outlive it.
// Threads: any. Holds no lock of its own; an allocation or release is one commit (row 8 of the lock order), which is made
// without a lock of this layer. The caller may be the leader of FrameWriter (row 7).
//
// Invariants
//   a zone enters LogZones only after its allocation is committed
//   a zone goes back to the zone manager only after its release is committed, and after it has left LogZones
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/edit.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

// How the log has its allocations committed; the volume implements it over the metadata log.
class LogZoneAllocations {
 public:
  virtual ~LogZoneAllocations() = default;
  // Durable when it returns. Picks generation and salt.
  [[nodiscard]] virtual Result<LogZone> Allocate(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Release(ZoneId zone) = 0;
};

class LogZoneSupply {
 public:
  struct Deps {
    ZoneManager* zones = nullptr;
    LogZones* log_zones = nullptr;
    LogZoneAllocations* allocations = nullptr;
    std::uint32_t ready_target = 1;  // ready zones kept ahead of use
  };

  explicit LogZoneSupply(const Deps& deps) : deps_(deps) {}
  ~LogZoneSupply() { Stop(); }

  // Starts the thread. It keeps zones ready, releases dead ones and asks reclaim to clean mostly dead ones.
  // Errors: those of Thread::Start; then the log still gets what AllocateOne allocates.
  [[nodiscard]] Status Start();
  // Also ends what the log still waits for: LogZones::Stop.
  void Stop();

  // Makes one more zone ready, on the caller's thread. Errors: those of ZoneManager::LendLogZone, of which kTimedOut says
  // that no zone became free until `deadline`, and those of the commit.
  [[nodiscard]] Status AllocateOne(Deadline deadline);
  // Releases zones without live frames, on the caller's thread. True if there were any.
  bool ReleaseDead();
  // Gives a zone that was made ready and never written back to the zone manager, as headroom. False if there is none.
  bool GiveBackReady();
  // A thread is allocating or releasing a zone right now. So a zone may become free, or ready, in a moment.
  bool AnyInTransit() const { return in_transit_.load(std::memory_order_acquire) != 0; }

 private:
  class Transit;

  void Work();
  bool TopUp();
  bool Release(ZoneId zone);

  const Deps deps_;
  std::atomic<int> in_transit_{0};
  Thread worker_;
};

}  // namespace zenfs
