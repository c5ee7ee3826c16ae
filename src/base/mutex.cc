#include "base/mutex.h"

#include "base/scheduler.h"

namespace zenfs {

void Mutex::Lock() {
  order_.BeforeLock();
  if (Scheduler* s = Scheduler::Installed()) {
    s->Lock(this);
  } else {
    mutex_.lock();
  }
  order_.Locked(this);
}

bool Mutex::TryLock() {
  Scheduler* const s = Scheduler::Installed();
  const bool locked = s != nullptr ? s->TryLock(this) : mutex_.try_lock();
  if (locked) order_.Locked(this);
  return locked;
}

void Mutex::Unlock() {
  order_.Unlocked(this);
  if (Scheduler* s = Scheduler::Installed()) return s->Unlock(this);
  mutex_.unlock();
}

void CondVar::Wait(Mutex& mutex) { static_cast<void>(WaitUntil(mutex, Deadline::Never())); }

bool CondVar::WaitUntil(Mutex& mutex, Deadline deadline) {
  mutex.order_.Unlocked(&mutex);
  mutex.order_.BeforeLock();  // the wait locks it again while other mutexes may be held
  const bool notified = WaitUnlocked(mutex, deadline);
  mutex.order_.Locked(&mutex);
  return notified;
}

bool CondVar::WaitUnlocked(Mutex& mutex, Deadline deadline) {
  if (Scheduler* s = Scheduler::Installed()) return s->Wait(this, &mutex, deadline.when());
  std::unique_lock lock(mutex.mutex_, std::adopt_lock);
  bool notified = true;
  if (deadline.when() == SteadyTime::max()) {
    condition_.wait(lock);
  } else {
    notified = condition_.wait_until(lock, deadline.when()) == std::cv_status::no_timeout;
  }
  lock.release();
  return notified;
}

void CondVar::NotifyOne() {
  if (Scheduler* s = Scheduler::Installed()) return s->Notify(this, false);
  condition_.notify_one();
}

void CondVar::NotifyAll() {
  if (Scheduler* s = Scheduler::Installed()) return s->Notify(this, true);
  condition_.notify_all();
}

}  // namespace zenfs
