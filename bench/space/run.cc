#include "run.h"

#include <algorithm>

namespace zenfs::space {
namespace {

// A mean over the bytes that are written meanwhile.
class Mean {
 public:
  void Add(double value, double weight) {
    sum_ += value * weight;
    weight_ += weight;
  }
  double value(double otherwise) const { return weight_ == 0 ? otherwise : sum_ / weight_; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

class Runner {
 public:
  Runner(TraceSource& source, SimulatedZones& zones, const RunOptions& options, const Progress& progress)
      : source_(source),
        zones_(zones),
        options_(options),
        progress_(progress),
        room_(static_cast<double>(zones.data_capacity())) {}

  Result<Measured> Run() {
    bool more = true;
    if (options_.warmup > 0) {
      ZENFS_ASSIGN_OR_RETURN(more, WriteUntil(options_.warmup * room_));
    }
    begin_ = zones_.counts();
    const double from = Written();
    const std::uint32_t samples = options_.measure > 0 ? options_.samples : 1;
    for (std::uint32_t i = 1; i <= samples && more; ++i) {
      const double until = options_.measure > 0 ? from + options_.measure * room_ * i / samples : 1e300;
      ZENFS_ASSIGN_OR_RETURN(more, Measure(until));
    }
    result_.counts = zones_.counts().Since(begin_);
    result_.live_share = live_.value(0);
    result_.space_amplification = space_.value(1);
    return result_;
  }

 private:
  static constexpr std::uint64_t kEventsALook = 256;

  double Written() const { return static_cast<double>(zones_.counts().user_bytes()); }

  Result<bool> Measure(double until) {
    const SpaceCounts before = zones_.counts();
    part_ = Mean();
    measuring_ = true;
    ZENFS_ASSIGN_OR_RETURN(const bool more, WriteUntil(until));
    if (zones_.counts().user_bytes() != before.user_bytes()) {
      result_.samples.push_back(
          {.device_writes = static_cast<double>(zones_.counts().user_bytes() - begin_.user_bytes()) / room_,
           .write_amplification = zones_.counts().Since(before).write_amplification(),
           .space_amplification = part_.value(1)});
    }
    return more;
  }

  // Returns false at the end of the events, or if there is no space.
  Result<bool> WriteUntil(double bytes) {
    while (Written() < bytes) {
      ZENFS_ASSIGN_OR_RETURN(const std::optional<TraceEvent> event, source_.Next());
      if (!event) return false;
      ++result_.events;
      const Status applied = volume_.Apply(*event);
      if (!applied.ok() && applied.error().code() == Code::kNoSpace) {
        result_.no_space = true;
        return false;
      }
      ZENFS_RETURN_IF_ERROR(applied);
      if (result_.events % kEventsALook == 0) Look();
    }
    return true;
  }

  void Look() {
    result_.files_max = std::max<std::uint64_t>(result_.files_max, volume_.file_count());
    const double weight = Written() - looked_at_;
    looked_at_ = Written();
    const SpaceReport space = zones_.Space();
    if (measuring_ && space.live != 0) {
      const double live = static_cast<double>(space.live);
      const double amplification = (live + static_cast<double>(space.garbage)) / live;
      live_.Add(live / room_, weight);
      space_.Add(amplification, weight);
      part_.Add(amplification, weight);
    }
    if (progress_)
      progress_(options_.measure > 0 ? Written() / ((options_.warmup + options_.measure) * room_) : 0);
  }

  TraceSource& source_;
  SimulatedZones& zones_;
  const RunOptions& options_;
  const Progress& progress_;
  const double room_;
  SimulatedVolume volume_{zones_, options_.pace};
  Measured result_;
  SpaceCounts begin_;
  bool measuring_ = false;
  double looked_at_ = 0;
  Mean live_, space_, part_;
};

}  // namespace

Result<Measured> Run(TraceSource& source, SimulatedZones& zones, const RunOptions& options,
                     const Progress& progress) {
  return Runner(source, zones, options, progress).Run();
}

}  // namespace zenfs::space
