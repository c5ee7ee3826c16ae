#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"
#include "base/scheduler.h"

namespace zenfs {

std::uint64_t RandomSeed() {
  if (Scheduler* s = Scheduler::Installed()) return s->RandomSeed();
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
    seed = static_cast<std::uint64_t>(SteadyNow().time_since_epoch().count());
  }
  return seed;
}

Random::Random(std::uint64_t seed) {
  // splitmix64 spreads a small seed over the whole state. The state must not be all zeros.
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::Next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

void Random::Fill(ByteSpan bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = Next();
    std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
  }
}

}  // namespace zenfs
