// What programs the flash of a drive, as a fluid: the write buffer and the zones that are being finished share its
// capacity evenly; resets and reads take it away from all of them for a while.
//
// Units: nanoseconds, times as well as work. Work is the time that the drain needs for it when it does nothing else.
// Pure; the caller locks.
#pragma once

#include <vector>

#include "model/units.h"

namespace zenfs {

class WriteDrain {
 public:
  // What was told until then goes on until `now`. A `now` in the past changes nothing.
  void Advance(double now);

  void Buffer(double work) { buffered_ += work; }
  // Nothing else is programmed for so long.
  void Stall(double work) { stalled_ += work; }
  void BeginFinish(ZoneId zone, double work) { finishes_.push_back({zone, work}); }

  double stalled() const { return stalled_; }
  bool finishing() const { return !finishes_.empty(); }
  bool Finishes(ZoneId zone) const;

  // If nothing more comes: when the buffer holds no more than `level`, and when the finish of `zone` has been
  // programmed. Now or in the past if that is so already.
  double BufferFallsTo(double level) const;
  double FinishEnds(ZoneId zone) const;

 private:
  struct Finish {
    ZoneId zone;
    double left;
  };

  double flows() const { return (buffered_ > 0 ? 1.0 : 0.0) + static_cast<double>(finishes_.size()); }
  void Step(double until);

  double as_of_ = 0;
  double stalled_ = 0;
  double buffered_ = 0;
  std::vector<Finish> finishes_;  // in the order in which they began
};

}  // namespace zenfs
