#include "metalog/log_switch.h"

#include "base/assert.h"

namespace zenfs {

Status LogSwitch::Start(std::uint64_t need) {
  ZENFS_ASSERT(!running_);
  // The new thread waits for the lock. The assignment joins the thread of the last log switch. That thread finished its
  // work when it called End, so the join does not block.
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-switch", run_));
  NoteRunning(need);
  return {};
}

void LogSwitch::NoteRunning(std::uint64_t need) {
  running_ = true;
  need_ = need;
  result_ = std::make_shared<std::optional<Status>>();
}

Status LogSwitch::StartAndWait(Mutex& mutex, std::uint64_t need) {
  if (!running_ && !Start(need).ok()) {
    NoteRunning(need);
    const std::shared_ptr<std::optional<Status>> result = result_;
    mutex.Unlock();
    run_();
    mutex.Lock();
    return **result;
  }
  const std::shared_ptr<std::optional<Status>> result = result_;
  while (!result->has_value()) ended_.Wait(mutex);
  return **result;
}

void LogSwitch::AwaitEnd(Mutex& mutex) {
  while (running_) ended_.Wait(mutex);
}

void LogSwitch::End(const Status& result) {
  ZENFS_ASSERT(running_);
  running_ = false;
  *result_ = result;
  ended_.NotifyAll();
}

}  // namespace zenfs
