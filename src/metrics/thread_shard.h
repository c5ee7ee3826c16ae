// Which shard of every metrics page the calling thread counts in.
//
// A thread takes one of the shards that have a single owner, if one is left, and gives it back when it ends; the next
// owner sees all that the last one stored. While it has one, a count is a plain load and store. Threads that find
// none share the last shard, with atomic additions.
#pragma once

#include <cstdint>

#include "metrics/metrics_page.h"

namespace zenfs {

inline constexpr std::uint32_t kSharedShard = kMetricsShards - 1;

namespace thread_shard_internal {
inline constexpr std::uint32_t kUnclaimed = ~std::uint32_t{0};
// In the static block of each thread, so that reading it is one load and not a call, also from a shared object. Four
// bytes of what the C library keeps there for objects that are loaded later.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::uint32_t shard;
[[nodiscard]] std::uint32_t Claim();
}  // namespace thread_shard_internal

[[nodiscard]] inline std::uint32_t ThreadShard() {
  const std::uint32_t shard = thread_shard_internal::shard;
  return shard != thread_shard_internal::kUnclaimed ? shard : thread_shard_internal::Claim();
}

}  // namespace zenfs
