#include "metrics/thread_shard.h"

#include <atomic>
#include <bit>

namespace zenfs::thread_shard_internal {
namespace {

constexpr std::uint32_t kAllOwned = (1u << kSharedShard) - 1;
constinit std::atomic<std::uint32_t> owned{0};  // one bit for each shard with an owner

// Returns the shard when the thread ends. Later counts of the thread go to the shared shard.
struct Return {
  ~Return() {
    if (shard >= kSharedShard) return;
    owned.fetch_and(~(1u << shard), std::memory_order_release);
    shard = kSharedShard;
  }
};
thread_local Return give_back;

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t shard = kUnclaimed;

std::uint32_t Claim() {
  std::uint32_t now = owned.load(std::memory_order_relaxed);
  while (now != kAllOwned) {
    const auto free = static_cast<std::uint32_t>(std::countr_one(now));
    if (!owned.compare_exchange_weak(now, now | (1u << free), std::memory_order_acquire)) continue;
    shard = free;
    [[maybe_unused]] Return& at_end = give_back;  // makes its destructor run when the thread ends
    return shard;
  }
  shard = kSharedShard;
  return shard;
}

}  // namespace zenfs::thread_shard_internal
