#include "wal/log_drain.h"

#include <utility>

#include "base/clock.h"
#include "base/sync_point.h"
#include "wal/framed_file.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kLookEvery{250};

}  // namespace

Status LogDrain::Start() {
  ZENFS_ASSIGN_OR_RETURN(worker_, Thread::Start("zenfs-drain", [this] { Work(); }));
  return {};
}

void LogDrain::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  worker_.Join();
}

void LogDrain::Arm() {
  MutexLock lock(mutex_);
  if (armed_.exchange(true, std::memory_order_relaxed)) return;
  wake_.NotifyOne();
}

void LogDrain::FlushEarly(FileId id) {
  MutexLock lock(mutex_);
  early_.push_back(id);
  wake_.NotifyOne();
}

void LogDrain::Work() {
  MutexLock lock(mutex_);
  Deadline look = Deadline::After(kLookEvery);
  while (!stopping_) {
    const bool armed = armed_.load(std::memory_order_relaxed);
    if (armed && look.Passed()) {  // before early_: a busy file may be in it all the time
      // Before the pass: a file that begins to buffer during the pass sets it again.
      armed_.store(false, std::memory_order_relaxed);
      lock.Unlock();
      const bool more = WriteBackOld();
      lock.Lock();
      if (more) armed_.store(true, std::memory_order_relaxed);
      look = Deadline::After(kLookEvery);
    } else if (!early_.empty()) {
      const std::vector<FileId> ids = std::exchange(early_, {});
      lock.Unlock();
      WriteBack(ids);
      lock.Lock();
    } else if (armed) {
      static_cast<void>(wake_.WaitUntil(mutex_, look));
    } else {
      SyncPoint::Reach("LogDrain::Work:idle");  // with the lock held: a handler only counts
      wake_.Wait(mutex_);
      look = Deadline::After(kLookEvery);
    }
  }
}

void LogDrain::WriteBack(const std::vector<FileId>& ids) {
  for (const FileId id : ids) {
    if (const auto file = logs_.Find(id)) IgnoreError(file->WriteBack());
  }
}

bool LogDrain::WriteBackOld() {
  const SteadyTime before = SteadyNow() - kMaxAge;
  bool again = retry_.Passed();
  bool more = false;
  for (const auto& file : logs_.All()) {
    const FramedFile::Drained drained = file->WriteBackOlderThan(before, again);
    more = more || drained != FramedFile::Drained::kAll;
    if (!again || drained != FramedFile::Drained::kNoRoom) continue;
    again = false;  // there is none for the others either
    retry_ = Deadline::After(kRetryAfter);
  }
  return more;
}

}  // namespace zenfs
