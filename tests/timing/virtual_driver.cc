#include "virtual_driver.h"

#include <queue>

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;

constexpr std::uint32_t kZones = 904;
constexpr int kManagementCommands = 5;
constexpr std::chrono::milliseconds kStart{20};  // in which the buffer fills
constexpr SteadyTime kBegin{std::chrono::hours(1)};

std::chrono::nanoseconds Seconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}
double Microseconds(std::chrono::nanoseconds span) { return static_cast<double>(span.count()) / 1e3; }

// Everybody who sends commands: one event each, when the next is to be sent. The first in_flight senders are the load.
class VirtualRun {
 public:
  VirtualRun(const Experiment& experiment, double seconds, std::uint64_t seed)
      : load_(experiment.load),
        clock_(MakeDeviceClock(experiment.profile, kZones, kZoneCapacity, seed)),
        end_(kBegin + kStart + Seconds(seconds)) {}

  LoadOutcome Go(double seconds) {
    const std::uint32_t senders = load_.in_flight;
    background_ = senders;
    resetter_ = senders + 1;
    finisher_ = senders + 2;
    for (std::uint32_t i = 0; i < senders; ++i) events_.push({kBegin + std::chrono::nanoseconds(i), i});
    if (load_.write_mib_per_second > 0) events_.push({kBegin, background_});
    if (load_.resets_per_second > 0) events_.push({kBegin, resetter_});
    if (load_.finishing) events_.push({kBegin, finisher_});
    while (events_.top().at < end_) {
      const Event event = events_.top();
      events_.pop();
      events_.push({Send(event), event.sender});
    }
    outcome_.seconds = seconds;
    return std::move(outcome_);
  }

 private:
  struct Event {
    SteadyTime at;
    std::uint32_t sender;
    bool operator<(const Event& other) const { return at > other.at; }  // the earliest on top
  };

  bool Counts(SteadyTime at) const { return at >= kBegin + kStart && at < end_; }

  // Returns when the sender sends its next command.
  SteadyTime Send(const Event& event) {
    if (event.sender == background_) return SendPaced(event.at, load_.write_mib_per_second);
    if (event.sender == resetter_) {
      const TimedCommand reset{Kind::kReset, ZoneId(kZones - 1), kZoneCapacity};
      return std::max(clock_->Completion(reset, event.at), event.at + Seconds(1 / load_.resets_per_second));
    }
    if (event.sender == finisher_) return SendFinish(event.at);
    const ZoneId zone(load_.kind == Kind::kWrite ? event.sender : 0);
    const SteadyTime done = clock_->Completion({load_.kind, zone, load_.bytes}, event.at);
    if (Counts(done)) outcome_.latencies_us.push_back(Microseconds(done - event.at));
    return done;
  }

  SteadyTime SendPaced(SteadyTime at, double mib_per_second) {
    const SteadyTime done = clock_->Completion({Kind::kWrite, ZoneId(kZones - 2), kBackgroundWrite}, at);
    if (Counts(done)) outcome_.background_bytes += kBackgroundWrite;
    const double period = static_cast<double>(kBackgroundWrite) / (mib_per_second * kMib);
    return std::max(done, at + Seconds(period));
  }

  SteadyTime SendFinish(SteadyTime at) {
    if (finishing_ != 0) {
      const SteadyTime later = clock_->FinishCompletion(ZoneId(finishing_), at);
      if (later > at) return later;
    }
    ++finishing_;
    return clock_->Completion({Kind::kFinish, ZoneId(finishing_), kZoneCapacity - 4096}, at);
  }

  const Load load_;
  const std::unique_ptr<DeviceClock> clock_;
  const SteadyTime end_;
  std::priority_queue<Event> events_;
  std::uint32_t background_ = 0;
  std::uint32_t resetter_ = 0;
  std::uint32_t finisher_ = 0;
  std::uint32_t finishing_ = 0;  // the zone; 0: none yet
  LoadOutcome outcome_;
};

LoadOutcome Manage(const Experiment& experiment, std::uint64_t seed) {
  const Load& load = experiment.load;
  LoadOutcome outcome;
  const auto clock = MakeDeviceClock(experiment.profile, kZones, kZoneCapacity, seed);
  SteadyTime now = kBegin;
  for (std::uint32_t i = 0; i < kManagementCommands; ++i) {
    TimedCommand command{load.kind, ZoneId(i), load.bytes};
    if (load.kind == Kind::kFinish && load.bytes != 0) command.bytes = kZoneCapacity - load.bytes;
    SteadyTime done = clock->Completion(command, now);
    if (load.kind == Kind::kFinish) done = clock->FinishCompletion(command.zone, done);
    outcome.latencies_us.push_back(Microseconds(done - now));
    now = done + std::chrono::milliseconds(1);
  }
  outcome.seconds = 1;
  return outcome;
}

}  // namespace

LoadOutcome VirtualDriver::Run(const Experiment& experiment, double seconds) {
  switch (experiment.load.kind) {
    case Kind::kRead:
    case Kind::kWrite:
    case Kind::kAppend: return VirtualRun(experiment, seconds, seed_).Go(seconds);
    case Kind::kReset:
    case Kind::kFinish:
    case Kind::kOpen:
    case Kind::kClose:
    case Kind::kFlush: return Manage(experiment, seed_);
  }
  return {};
}

}  // namespace zenfs
