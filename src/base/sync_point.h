// Named points in production code at which a test may hold a thread, so that a race is reproduced exactly
// instead of by sleeping. Without a handler a point costs one relaxed load.
//
// Threads: one handler at a time, set by one thread; it is called on each thread that passes a point.
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
    running_.fetch_add(1);  // before the look at the handler: who takes it away looks here afterwards
    if (const Handler* handler = handler_.load()) (*handler)(name);
    running_.fetch_sub(1);
  }

  // Installs `handler` for the life of the object, whose end waits for threads that are in it.
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
  static inline std::atomic<const Handler*> handler_{nullptr};
  static inline std::atomic<int> running_{0};
};

}  // namespace zenfs
