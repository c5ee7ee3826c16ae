// Reserves and releases the zones of the log.
//
// A background thread, "zenfs-log", allocates zones ahead of use, releases zones without live frames, and
// asks reclaim to clean zones with few. Callers that cannot wait for the thread do the same themselves: the
// leader of FrameWriter if no zone is ready (AllocateGroup, ReleaseDead), and reclaim (ReleaseDead,
// GiveBackReady).
//
// Ownership: owns the thread. The parts in Deps outlive it.
// Threads: any; no lock of its own. Each allocation or release is one commit (row 8 of the lock order),
// made without a lock of this layer. The caller may be the leader of FrameWriter (row 7).
//
// Invariants
//   a zone enters LogZones only after its allocation is committed
//   a zone goes back to the zone manager only after its release is committed, and after it has left LogZones
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/edit.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

// Commits allocations of log zones. The volume implements this with the metadata log.
class LogZoneAllocations {
 public:
  virtual ~LogZoneAllocations() = default;
  // Makes a group of the zones: chooses its generation, and a salt for each. The allocation is durable when this returns.
  [[nodiscard]] virtual Result<std::vector<LogZone>> Allocate(std::span<const ZoneId> zones) = 0;
  // Tells later mounts that frames may be in the `bytes` behind the write pointer (MarkSyncZone).
  [[nodiscard]] virtual Status MarkSync(ZoneId zone, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Status Release(std::span<const ZoneId> zones) = 0;
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
  // Errors: those of Thread::Start. Without the thread, writes allocate zones themselves with AllocateGroup.
  [[nodiscard]] Status Start();
  // Ends the thread, and all waits of the log (LogZones::Stop).
  void Stop();

  // Makes one more group ready, on the caller's thread. While space is short it has fewer zones. During a mount it has one,
  // which is borrowed. Errors: those of
  // ZoneManager::LendLogZone (kTimedOut: no zone became free until `deadline`) and of the commit.
  [[nodiscard]] Status AllocateGroup(Deadline deadline, LogLoan loan = LogLoan::kNow);
  // Releases zones without live frames, on the caller's thread. Returns true if it released any.
  bool ReleaseDead();
  // Releases a ready zone that was never written, so that the zone manager can use it as headroom. Returns
  // false if there is none, or if the commit failed.
  bool GiveBackReady(LogZones::Unwritten which = LogZones::Unwritten::kAny);
  // True if a thread is allocating or releasing a zone, so that a zone may soon be free or ready.
  bool AnyInTransit() const { return in_transit_.load(std::memory_order_acquire) != 0; }

 private:
  class Transit;

  void Work();
  bool TopUp();
  bool Release(std::span<const ZoneId> zones);

  const Deps deps_;
  std::atomic<int> in_transit_{0};
  Thread worker_;
};

}  // namespace zenfs
