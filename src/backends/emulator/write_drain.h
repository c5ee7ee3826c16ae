// Models the programming of a drive's flash as a fluid: the write buffer and the zones that are
// being finished share its bandwidth equally; resets and reads stop all of them for a while.
//
// Units: nanoseconds, for times and for work. Work is the time that the drain needs for it if it
// does nothing else. Pure; the caller locks.
#pragma once

#include <vector>

#include "model/units.h"

namespace zenfs {

class WriteDrain {
 public:
  // Continues the present work until `now`. A `now` in the past changes nothing.
  void Advance(double now);

  void Buffer(double work) { buffered_ += work; }
  // Programs nothing else for this long.
  void Stall(double work) { stalled_ += work; }
  void BeginFinish(ZoneId zone, double work) { finishes_.push_back({zone, work}); }

  double stalled() const { return stalled_; }
  bool finishing() const { return !finishes_.empty(); }
  bool Finishes(ZoneId zone) const;

  // If no more work comes: when the buffer holds at most `level`, and when the finish of `zone` is
  // programmed. Now or a time in the past if that is already so.
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
  std::vector<Finish> finishes_;  // in order of their begin
};

}  // namespace zenfs
