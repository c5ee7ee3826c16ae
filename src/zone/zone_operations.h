// The background thread that executes all resets and finishes of data zones, one at a time, outside the lock.
//
// A drive resets a zone with the bandwidth of its writes: a ZN540 loses a third of it at 30 resets a second. So while data is
// written, resets that can wait have pauses in between.
//
// A zone that a reader of this host uses (zone/reset_queue.h) rests for kRest before its reset, so that the reader can go on
// reading a file that was deleted. It rests only while nothing could need it: no writer waits, and as many zones are empty as
// the collector wants. The others are reset at once.
//
// Ownership: `shared` outlives it. Threads: Start and Join from one thread; the other calls from any.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "zone/reset_queue.h"
#include "zone/shared_zone_pool.h"

namespace zenfs {

class ZoneOperations {
 public:
  static constexpr std::chrono::seconds kRest{60};

  explicit ZoneOperations(SharedZonePool& shared) : shared_(shared) {}

  // Call this before Start. `readers` outlives the thread.
  void SetReaders(ZoneReaders* readers) { readers_ = readers; }

  // Starts the thread. Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  // Waits for the end of the thread, after its current command. Call SharedZonePool::Stop before.
  void Join() { thread_.Join(); }

  // Stops resets for this mount; a running reset still ends. Call this once a commit's outcome is unknown, before
  // releasing pins.
  void StopResets() EXCLUDES(shared_.mutex);
  // Queues resets for partly written zones without live data, then waits until no reset or finish is queued or running.
  // Does nothing in a read-only mount. Errors: kTimedOut at the deadline; kShutdown after Stop.
  [[nodiscard]] Status Drain(Deadline deadline) EXCLUDES(shared_.mutex);

 private:
  void Run() EXCLUDES(shared_.mutex);
  // Waits before the next reset, or until something changes; false if the next job may begin.
  bool Pause() REQUIRES(shared_.mutex);
  // Lets zones rest: puts one off, or waits until one has rested or something changes. False if the next job may begin.
  // Releases the lock meanwhile.
  bool Rest() REQUIRES(shared_.mutex);
  // A zone that comes back from the log holds a slot until its reset. If a reader uses it, finishes it, so that it can rest
  // too. Returns false if it must be reset now. Releases the lock meanwhile.
  bool FinishInstead(const ZoneJob& job) REQUIRES(shared_.mutex);

  SharedZonePool& shared_;
  ZoneReaders* readers_ = nullptr;
  SteadyTime next_reset_;  // if it can wait
  Thread thread_;
};

}  // namespace zenfs
