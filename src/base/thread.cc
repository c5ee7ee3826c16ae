#include "base/thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace zenfs {
namespace {

class OsThread final : public Scheduler::ThreadHandle {
 public:
  // Throws std::system_error.
  OsThread(std::string name, std::function<void()> body)
      : thread_([name = std::move(name), body = std::move(body)]() noexcept {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          body();
        }) {}
  void Join() override { thread_.join(); }

 private:
  std::thread thread_;
};

std::unexpected<Error> Refused(const char* name, int os_errno) {
  return Fail(
      Error(Code::kBusy, fmt::format("the thread {} can't be started", name), os_errno)
          .Advise("raise the limit of threads (ulimit -u, or pids.max of the cgroup), or free memory"));
}

}  // namespace

Result<Thread> Thread::Start(const char* name, std::function<void()> body) {
  if (const Refusal refusal = refusal_.load(std::memory_order_relaxed); refusal != nullptr && refusal(name)) {
    return Refused(name, EAGAIN);
  }
  Thread thread;
  if (Scheduler* s = Scheduler::Installed()) {
    thread.handle_ = s->Start(std::move(body));
    return thread;
  }
  try {
    thread.handle_ = std::make_unique<OsThread>(name, std::move(body));
  } catch (const std::system_error& error) {
    return Refused(name, error.code().value());
  }
  return thread;
}

Thread::Thread(const char* name, std::function<void()> body) {
  Result<Thread> started = Start(name, std::move(body));
  if (!started) throw std::runtime_error(started.error().ToString());
  *this = *std::move(started);
}

void Thread::Join() {
  if (handle_ == nullptr) return;
  handle_->Join();
  handle_.reset();
}

}  // namespace zenfs
