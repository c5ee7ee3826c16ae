#include "backends/emulator/buffered_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "base/bytes.h"

namespace zenfs {
namespace {

constexpr double kKib = 1024;
constexpr double kMib = 1024 * 1024;

double AsDouble(std::uint64_t bytes) { return static_cast<double>(bytes); }
double TimeAt(double mib_per_second, std::uint64_t bytes) {
  return AsDouble(bytes) / (mib_per_second * kMib) * 1e9;
}

// Linear interpolation between the points; outside of them, the value of the nearest point.
double Interpolate(std::span<const BufferedProfile::Point> points, double x) {
  if (x <= points.front().x) return points.front().y;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& [left, right] = std::pair(points[i - 1], points[i]);
    if (x < right.x) return left.y + (right.y - left.y) * (x - left.x) / (right.x - left.x);
  }
  return points.back().y;
}

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

BufferedProfile SmallZoneProfile() {
  BufferedProfile profile;
  profile.zone_has_die = true;
  profile.zone_mib_per_second = profile.drain_mib_per_second / 40;
  profile.zone_buffer_kib = 192;
  return profile;
}

BufferedClock::BufferedClock(const BufferedProfile& profile, std::uint32_t zones, std::uint64_t seed)
    : profile_(profile),
      random_(seed),
      zone_free_(zones),
      zone_drained_(profile.zone_has_die ? zones : 0),
      die_free_(profile.zone_has_die ? zones : profile.dies) {}

SteadyTime BufferedClock::Completion(const TimedCommand& command, SteadyTime sent) {
  const double now = Now(sent);
  drain_.Advance(now);
  switch (command.kind) {
    case TimedCommand::Kind::kRead: return Time(Read(command, now));
    case TimedCommand::Kind::kWrite:
    case TimedCommand::Kind::kAppend: return Time(Write(command, now));
    case TimedCommand::Kind::kReset: return Time(Reset(command.bytes, now));
    case TimedCommand::Kind::kFinish: return Time(Finish(command, now));
    case TimedCommand::Kind::kOpen: return Time(now + profile_.open_ns);
    case TimedCommand::Kind::kClose: return Time(now + profile_.close_ns);
    case TimedCommand::Kind::kFlush: return sent;
  }
  return sent;
}

double BufferedClock::Read(const TimedCommand& command, double now) {
  const double kib = AsDouble(command.bytes) / kKib;
  const double taken = std::max(now, next_read_);
  next_read_ = taken + std::max(profile_.read_interval_ns,
                                profile_.read_interval_base_ns + profile_.read_interval_ns_per_kib * kib);
  const bool own = profile_.zone_has_die;
  double& die = die_free_[own ? command.zone.value : random_.Below(die_free_.size())];
  double start = std::max(taken, die);
  if (Uniform() < ProgrammingShare(now)) {
    start += Interpolate(profile_.program_wait, Uniform());
    drain_.Stall(profile_.read_stall_ns);
  }
  const std::uint64_t pages = own ? RoundUp(command.bytes, profile_.page_bytes) / profile_.page_bytes : 1;
  die = start + profile_.die_busy_ns * AsDouble(pages);
  const double spread = profile_.read_spread_ns * (2 * Uniform() - 1);
  return std::max(start + profile_.read_base_ns + profile_.read_ns_per_kib * kib + spread, own ? die : 0);
}

double BufferedClock::Write(const TimedCommand& command, double now) {
  const bool append = command.kind == TimedCommand::Kind::kAppend;
  const bool small_append = append && command.bytes < profile_.small_append_bytes;
  double start = std::max(now, next_write_);
  next_write_ = start + (small_append ? profile_.small_append_interval_ns : profile_.write_interval_ns);
  double& zone_free = zone_free_[command.zone.value];
  if (!append) start = std::max(start, zone_free);

  const double work = DrainWork(command.bytes);
  drain_.Buffer(work);
  ProgrammingShare(now);  // decays old work
  programmed_ += work;

  double acknowledged = start + WriteLatency(command.bytes) + (append ? AppendExtra(command.bytes) : 0);
  if (last_acknowledged_ > start) acknowledged += profile_.concurrent_ns;
  acknowledged = std::max(acknowledged, RoomInBuffer(command.bytes));
  if (profile_.zone_has_die) acknowledged = std::max(acknowledged, RoomInZoneBuffer(command, start));
  last_acknowledged_ = std::max(last_acknowledged_, acknowledged);
  if (!append) zone_free = acknowledged;
  return acknowledged;
}

double BufferedClock::AppendExtra(std::uint64_t bytes) const {
  return bytes <= profile_.short_write_bytes ? profile_.short_append_extra_ns : profile_.append_extra_ns;
}

double BufferedClock::WriteLatency(std::uint64_t bytes) {
  const double kib = AsDouble(bytes) / kKib;
  const double median = bytes <= profile_.short_write_bytes
                            ? profile_.short_write_ns
                            : profile_.write_base_ns + profile_.write_ns_per_kib * kib;
  const double spread = -std::log(1 - Uniform()) - std::numbers::ln2;  // its median is 0
  return median + (profile_.write_spread_ns + profile_.write_spread_ns_per_kib * kib) * spread;
}

// Returns when the drive lets a write continue that has put `bytes` into the buffer.
double BufferedClock::RoomInBuffer(std::uint64_t bytes) {
  ++writes_since_look_;
  bytes_since_look_ += bytes;
  if (writes_since_look_ >= profile_.look_every_writes || bytes_since_look_ >= profile_.look_every_bytes) {
    writes_since_look_ = 0;
    bytes_since_look_ = 0;
    const double capacity = profile_.buffer_mib / profile_.drain_mib_per_second * 1e9;
    held_until_ = std::max(held_until_, drain_.BufferFallsTo(capacity));
  }
  return held_until_;
}

// The same for the zone's part of the buffer.
double BufferedClock::RoomInZoneBuffer(const TimedCommand& command, double start) {
  double& drained = zone_drained_[command.zone.value];
  drained = std::max(drained, start) + TimeAt(profile_.zone_mib_per_second, command.bytes);
  return drained - profile_.zone_buffer_kib / kKib / profile_.zone_mib_per_second * 1e9;
}

double BufferedClock::Reset(std::uint64_t bytes, double now) {
  const double alone = Interpolate(profile_.reset, AsDouble(bytes) / kMib);
  const double completed = now + drain_.stalled() + alone;
  drain_.Stall((alone - profile_.reset_idle_ns) * profile_.reset_exclusive_share);
  return completed;
}

double BufferedClock::Finish(const TimedCommand& command, double now) {
  if (command.bytes == 0) return now + profile_.finish_nothing_ns;
  const double work = TimeAt(profile_.finish_mib_per_second, command.bytes);
  const double alone =
      std::min(profile_.finish_base_ns + work,
               profile_.finish_little_base_ns + TimeAt(profile_.finish_little_mib_per_second, command.bytes));
  const double tail = alone - work;
  drain_.BeginFinish(command.zone, work);
  finish_tails_.push_back({command.zone, tail});
  return drain_.FinishEnds(command.zone) + tail;
}

SteadyTime BufferedClock::FinishCompletion(ZoneId zone, SteadyTime due) {
  const auto tail = std::ranges::find(finish_tails_, zone, &FinishTail::zone);
  if (tail == finish_tails_.end()) return due;
  const double asked = Now(due);
  drain_.Advance(asked - tail->after_drain);
  if (drain_.Finishes(zone)) return Time(drain_.FinishEnds(zone) + tail->after_drain);
  finish_tails_.erase(tail);
  return due;
}

double BufferedClock::DrainWork(std::uint64_t bytes) const {
  return TimeAt(profile_.drain_mib_per_second, bytes);
}

// The probability that a read meets a die that is programming.
double BufferedClock::ProgrammingShare(double now) {
  if (now > programmed_as_of_) {
    programmed_ *= std::exp((programmed_as_of_ - now) / profile_.program_memory_ns);
    programmed_as_of_ = now;
  }
  const double of_writes = std::min(1.0, programmed_ / profile_.program_memory_ns);
  return of_writes + (drain_.finishing() ? profile_.finish_program_share : 0);
}

double BufferedClock::Uniform() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }

double BufferedClock::Now(SteadyTime time) {
  if (!origin_) origin_ = time;
  return static_cast<double>(std::chrono::nanoseconds(time - *origin_).count());
}

SteadyTime BufferedClock::Time(double now) const {
  return *origin_ + std::chrono::nanoseconds(static_cast<std::int64_t>(std::ceil(now)));
}

}  // namespace zenfs
