// What crash_load.cc writes and expects. Each thread writes numbers 0, 1, 2, ...; number n goes to slot n % kSlots of the
// thread, so that old values die and zones are reset, and what has to be there follows from the newest number alone.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/random.h"

namespace zenfs {

constexpr long kCrashSlots = 250;

// Not in the order of the numbers, so that memtables overlap and compactions have work.
inline std::string CrashKey(int thread, long slot) {
  return fmt::format("{}.{:03}", thread, slot * 211 % kCrashSlots);
}

// Begins with the number, then bytes that no other value has; of varying length, a few long enough for an extent of
// their own in a WAL.
inline std::string CrashValue(int thread, long number) {
  Random random((static_cast<std::uint64_t>(thread) << 32) + static_cast<std::uint64_t>(number));
  const std::size_t size = random.OneIn(64) ? 16384 + random.Below(32768) : 100 + random.Below(900);
  std::string value = fmt::format("{}:", number);
  value.reserve(value.size() + size + 8);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random.Next();
    value.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return value;
}

}  // namespace zenfs
