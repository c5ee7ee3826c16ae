#include "wal/zone_append.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace zenfs {

void SendChoice::NoteTime(std::chrono::nanoseconds after, bool by_append) {
  if (by_append != appends_) return;  // it began before the last change
  if (settling_ != 0) {
    --settling_;
    return;
  }
  times_[count_++] = after;
  if (count_ == kRound) EndRound();
}

void SendChoice::EndRound() {
  result_ns_[appends_ ? 1 : 0].store(ResultOfRound(), std::memory_order_relaxed);
  count_ = 0;
  if (!trial_) {
    if (++rounds_ < rounds_between_trials_) return;
    rounds_ = 0;
  } else {
    const std::uint64_t tried = result_ns_[appends_ ? 1 : 0].load(std::memory_order_relaxed);
    const std::uint64_t used = result_ns_[appends_ ? 0 : 1].load(std::memory_order_relaxed);
    if (tried * 100 <= used * (100 - kGainPercent)) {
      trial_ = false;
      rounds_between_trials_ = kRoundsBetweenTrialsMin;
      chosen_.store(appends_, std::memory_order_relaxed);
      changes_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    rounds_between_trials_ = std::min(2 * rounds_between_trials_, kRoundsBetweenTrialsMax);
  }
  trial_ = !trial_;
  appends_ = !appends_;
  settling_ = kSettling;
}

void SendChoice::UseWrites() {
  if (!measured_) return;
  if (chosen_.exchange(false, std::memory_order_relaxed)) changes_.fetch_add(1, std::memory_order_relaxed);
  appends_ = false;
  trial_ = false;
  count_ = 0;
  rounds_ = 0;
}

std::uint64_t SendChoice::ResultOfRound() {
  const auto slowest = times_.end() - kSlowest;
  std::nth_element(times_.begin(), slowest, times_.end());
  const auto sum = std::accumulate(times_.begin(), slowest, std::chrono::nanoseconds(0));
  return static_cast<std::uint64_t>(sum.count()) / (kRound - kSlowest);
}

SendChoice::State SendChoice::state() const {
  return {.appends = chosen_.load(std::memory_order_relaxed),
          .write = std::chrono::nanoseconds(result_ns_[0].load(std::memory_order_relaxed)),
          .append = std::chrono::nanoseconds(result_ns_[1].load(std::memory_order_relaxed)),
          .frames_met = frames_met_.load(std::memory_order_relaxed),
          .changes = changes_.load(std::memory_order_relaxed)};
}

bool AppendPlaces::Take(DeviceOffset at, std::uint64_t bytes, DeviceOffset reserved_to) {
  const Range range{at, at + bytes};
  if (range.from < from_ || range.to > reserved_to) return false;
  const auto next = std::ranges::find_if(taken_, [&](const Range& other) { return other.to > range.from; });
  if (next != taken_.end() && next->from < range.to) return false;
  taken_.insert(next, range);
  std::size_t joined = 0;
  for (; joined < taken_.size() && taken_[joined].from == from_; ++joined) from_ = taken_[joined].to;
  taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(joined));
  return true;
}

}  // namespace zenfs
