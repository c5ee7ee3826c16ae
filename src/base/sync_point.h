// Named points in production code at which a test may hold a thread, so that a race is reproduced exactly
// instead of by sleeping. Without a handler a point costs one relaxed load.
//
// Threads: handlers are set while no other thread passes points, and are called on the passing thread.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

namespace zenfs {

class SyncPoint {
 public:
  using Handler = std::function<void(std::string_view name)>;

  static void Reach(std::string_view name) {
    if (const Handler* handler = handler_.load(std::memory_order_acquire)) (*handler)(name);
  }

  // Installs `handler` for the life of the object.
  class Scope {
   public:
    explicit Scope(Handler handler) : own_(std::move(handler)) {
      handler_.store(&own_, std::memory_order_release);
    }
    ~Scope() { handler_.store(nullptr, std::memory_order_release); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Handler own_;
  };

 private:
  static inline std::atomic<const Handler*> handler_{nullptr};
};

}  // namespace zenfs
