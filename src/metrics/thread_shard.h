// The shard of every metrics page in which the calling thread counts.
//
// A thread takes a free single-owner shard if there is one, and returns it when it ends. The next
// owner sees all stores of the last one. With its own shard, a count is a plain load and store.
// Threads without one share the last shard, with atomic additions.
#pragma once

#include <cstdint>

#include "metrics/metrics_page.h"

namespace zenfs {

inline constexpr std::uint32_t kSharedShard = kMetricsShards - 1;

namespace thread_shard_internal {
inline constexpr std::uint32_t kUnclaimed = ~std::uint32_t{0};
// In the static TLS block of each thread: reading it is one load, not a call, also in a shared
// object. Uses four bytes of the space that the C library reserves there for objects loaded later.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::uint32_t shard;
[[nodiscard]] std::uint32_t Claim();
}  // namespace thread_shard_internal

[[nodiscard]] inline std::uint32_t ThreadShard() {
  const std::uint32_t shard = thread_shard_internal::shard;
  return shard != thread_shard_internal::kUnclaimed ? shard : thread_shard_internal::Claim();
}

}  // namespace zenfs
