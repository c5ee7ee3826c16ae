#include "base/mutex.h"

#include "base/scheduler.h"

namespace zenfs {

void Mutex::Lock() {
  if (Scheduler* s = Scheduler::Installed()) return s->Lock(this);
  mutex_.lock();
}

bool Mutex::TryLock() {
  if (Scheduler* s = Scheduler::Installed()) return s->TryLock(this);
  return mutex_.try_lock();
}

void Mutex::Unlock() {
  if (Scheduler* s = Scheduler::Installed()) return s->Unlock(this);
  mutex_.unlock();
}

void CondVar::Wait(Mutex& mutex) { static_cast<void>(WaitUntil(mutex, Deadline::Never())); }

bool CondVar::WaitUntil(Mutex& mutex, Deadline deadline) {
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
