#include "backends/emulator/write_drain.h"

#include <algorithm>
#include <limits>

namespace zenfs {
namespace {

constexpr double kNothing = 1;  // less remaining work than this is a rounding error: done
constexpr double kForEver = std::numeric_limits<double>::infinity();

}  // namespace

void WriteDrain::Advance(double now) {
  while (as_of_ < now) Step(now);
}

// Advances to the next moment at which something ends, at most to `until`, which is later than
// as_of_.
void WriteDrain::Step(double until) {
  if (stalled_ > 0) {
    const double step = std::min(stalled_, until - as_of_);
    as_of_ = step < stalled_ ? until : as_of_ + step;
    stalled_ = stalled_ - step < kNothing ? 0 : stalled_ - step;
    return;
  }
  const double shares = flows();
  if (shares == 0) {
    as_of_ = until;
    return;
  }
  double least = buffered_ > 0 ? buffered_ : kForEver;
  for (const Finish& finish : finishes_) least = std::min(least, finish.left);
  const bool ends = as_of_ + least * shares <= until;
  const double done = ends ? least : (until - as_of_) / shares;
  as_of_ = ends ? as_of_ + least * shares : until;
  buffered_ = buffered_ - done < kNothing ? 0 : buffered_ - done;
  for (Finish& finish : finishes_) finish.left -= done;
  std::erase_if(finishes_, [](const Finish& finish) { return finish.left < kNothing; });
}

double WriteDrain::BufferFallsTo(double level) const {
  if (buffered_ <= level) return as_of_;
  if (finishes_.empty()) return as_of_ + stalled_ + (buffered_ - level);
  WriteDrain drain = *this;
  while (drain.buffered_ > level + kNothing) {
    drain.Step(drain.as_of_ + drain.stalled_ + (drain.buffered_ - level) * drain.flows());
  }
  return drain.as_of_;
}

bool WriteDrain::Finishes(ZoneId zone) const {
  return std::ranges::find(finishes_, zone, &Finish::zone) != finishes_.end();
}

double WriteDrain::FinishEnds(ZoneId zone) const {
  WriteDrain drain = *this;
  while (drain.Finishes(zone)) drain.Step(kForEver);
  return drain.as_of_;
}

}  // namespace zenfs
