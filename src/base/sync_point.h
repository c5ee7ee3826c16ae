// Named points in production code at which a test can stop a thread, to reproduce a race without sleeping. Without a
// handler, a point costs one relaxed load.
//
// A point has the name of its function, and if that is not enough, what the thread does or has done there:
// "Metalog::BatchLead::Write", "ZoneManager::Rest:rests", "Namespace::Create:replaced".
//
// Threads: one handler at a time, set by one thread. Each thread that reaches a point calls it.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

namespace zenfs {

class SyncPoint {
 public:
  using Handler = std::function<void(std::string_view name)>;

  static void Reach(std::string_view name) {
    if (handler_.load(std::memory_order_relaxed) == nullptr) return;
    const Running running;  // before handler_ is read; ~Scope clears handler_ first and then reads running_
    if (const Handler* handler = handler_.load()) (*handler)(name);
  }

  // Installs `handler` until the object is destroyed. The destructor waits for threads inside the handler.
  class Scope {
   public:
    explicit Scope(Handler handler) : own_(std::move(handler)) { handler_.store(&own_); }
    ~Scope() {
      handler_.store(nullptr);
      while (running_.load() != 0) std::this_thread::yield();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Handler own_;
  };

 private:
  // Also while a handler throws, as if the process had died there.
  struct Running {
    Running() { running_.fetch_add(1); }
    ~Running() { running_.fetch_sub(1); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

  static inline std::atomic<const Handler*> handler_{nullptr};
  static inline std::atomic<int> running_{0};
};

}  // namespace zenfs
