// The thread that takes bytes from append buffers to the device while their appenders go on: of a file that asked
// because its buffer is half full, and of every file whose oldest buffered byte is a second old. So a WAL that is
// flushed but never synced loses at most about a second to a loss of power, and appenders seldom wait for a device.
//
// It sleeps while nothing is buffered. Errors stay in the file, whose next caller gets them.
//
// Threads: any. mutex_ is a leaf lock; files are written without it.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/units.h"

namespace zenfs {

class LogStore;

class LogDrain {
 public:
  static constexpr std::chrono::milliseconds kMaxAge{1000};

  // `logs` outlives it. Files that are not in there are not drained.
  explicit LogDrain(LogStore& logs) : logs_(logs) {}
  ~LogDrain() { Stop(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  void Stop() EXCLUDES(mutex_);

  // A file has begun to buffer bytes. Costs one load while the thread knows that anyway.
  void NoteBuffered() EXCLUDES(mutex_) {
    if (!armed_.load(std::memory_order_relaxed)) Arm();
  }
  // What `id` has buffered should go to the device now.
  void FlushEarly(FileId id) EXCLUDES(mutex_);

 private:
  void Arm() EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  void WriteBack(const std::vector<FileId>& ids);
  // True if younger bytes stay buffered.
  bool WriteBackOld();

  LogStore& logs_;
  std::atomic<bool> armed_{false};  // something may be buffered; written under mutex_
  Mutex mutex_{LockRank::kLogSpace};
  CondVar wake_;
  std::vector<FileId> early_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  Thread worker_;
};

}  // namespace zenfs
