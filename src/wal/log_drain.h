// The thread that writes append buffers to the device in the background: the buffer of a file when it is
// half full, and of every file when its oldest byte is a second old. So a power loss takes at most about a
// second of a WAL that is flushed but never synced, and appends seldom wait for the device.
//
// It sleeps while nothing is buffered. If the device has no room, it tries again each second. Other errors: the next caller
// of the file repairs them or gets them.
//
// Threads: any. No other lock is taken while mutex_ is held; files are written without it.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/units.h"

namespace zenfs {

class LogStore;

class LogDrain {
 public:
  static constexpr std::chrono::milliseconds kMaxAge{1000};
  static constexpr std::chrono::milliseconds kRetryAfter{1000};

  // Drains the files in `logs`, which outlives it.
  explicit LogDrain(LogStore& logs) : logs_(logs) {}
  ~LogDrain() { Stop(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  void Stop() EXCLUDES(mutex_);

  // A file has begun to buffer bytes. Costs one atomic load if the thread is awake already.
  void NoteBuffered() EXCLUDES(mutex_) {
    if (!armed_.load(std::memory_order_relaxed)) Arm();
  }
  // Writes the buffered bytes of file `id` soon.
  void FlushEarly(FileId id) EXCLUDES(mutex_);

 private:
  void Arm() EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  void WriteBack(const std::vector<FileId>& ids);
  // Returns true if bytes stay buffered that it has to write later.
  bool WriteBackOld();

  LogStore& logs_;
  Deadline retry_ = Deadline::After({});  // when to try again after an error for lack of room; the worker's
  std::atomic<bool> armed_{false};        // something may be buffered; written under mutex_
  Mutex mutex_{LockRank::kLogSpace};
  CondVar wake_;
  std::vector<FileId> early_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  Thread worker_;
};

}  // namespace zenfs
