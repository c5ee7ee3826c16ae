// Pseudo-random numbers. Production code seeds from the operating system through RandomSeed(); tests pass a fixed seed.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace zenfs {

// From getrandom(2), or from the installed scheduler.
[[nodiscard]] std::uint64_t RandomSeed();

// xoshiro256** by Blackman and Vigna (public domain algorithm). Not for secrets. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t Next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  // True once in `n` on average.
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  // Fills `bytes` with random bytes.
  void Fill(ByteSpan bytes);

 private:
  std::uint64_t state_[4];
};

}  // namespace zenfs
