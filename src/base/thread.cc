#include "base/thread.h"

#include <pthread.h>

#include <string>
#include <thread>

namespace zenfs {
namespace {

class OsThread final : public Scheduler::ThreadHandle {
 public:
  OsThread(std::string name, std::function<void()> body)
      : thread_([name = std::move(name), body = std::move(body)] {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          body();
        }) {}
  void Join() override { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

Thread::Thread(const char* name, std::function<void()> body) {
  if (Scheduler* s = Scheduler::Installed()) {
    handle_ = s->Start(std::move(body));
  } else {
    handle_ = std::make_unique<OsThread>(name, std::move(body));
  }
}

void Thread::Join() {
  if (handle_ == nullptr) return;
  handle_->Join();
  handle_.reset();
}

}  // namespace zenfs
