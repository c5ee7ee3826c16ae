// Models the time of a drive that acknowledges a write once it is in the drive's buffer: profiles
// zn540 and smallzone. BufferedProfile holds all its numbers; docs/use/timing.md says where they come from and
// what they result in.
//
// A write or append starts when the controller takes it (one per interval) and the last write of
// its zone has been acknowledged. It is acknowledged some microseconds later, depending on its
// size. Its bytes go into the buffer, which drains at the speed of the flash (WriteDrain). The
// drive looks at the level of the buffer at every 13th write; if it is too high, all writes wait
// until there is room again.
//
// A read waits for its die, one of 32: for earlier reads of that die, and, as often as dies are
// programming, for the end of a program operation.
//
// A zone may have a die of its own (profile smallzone). Then its bytes also drain at the speed of that die, a write waits until they
// fit into the zone's part of the buffer, and all its reads wait for that die.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "backends/emulator/timing.h"
#include "base/random.h"
#include "model/units.h"

namespace zenfs {

// All times are in nanoseconds.
struct BufferedProfile {
  // A point of a piecewise linear function: the value `y` at `x`.
  struct Point {
    double x;
    double y;
  };

  // Median time to the acknowledgement of a write: constant up to short_write_bytes, above that
  // base and slope.
  std::uint64_t short_write_bytes = 8 << 10;
  double short_write_ns = 10'500;
  double write_base_ns = 8'200;
  double write_ns_per_kib = 440;
  double short_append_extra_ns = 3'600;
  double append_extra_ns = 4'300;
  double concurrent_ns = 2'700;  // added while another write is in flight
  double write_spread_ns = 600;  // mean of the exponential spread around the median
  double write_spread_ns_per_kib = 35;
  double write_interval_ns = 5'376;            // 186,000 commands a second
  std::uint64_t small_append_bytes = 8 << 10;  // below this size, appends have this interval:
  double small_append_interval_ns = 7'576;     // 132,000 a second

  double drain_mib_per_second = 1'147;
  double buffer_mib = 4;
  std::uint32_t look_every_writes = 13;
  std::uint64_t look_every_bytes = 13 * (128 << 10);

  double read_base_ns = 63'000;
  double read_ns_per_kib = 2'420;
  double read_spread_ns = 8'500;    // uniform, to both sides
  double read_interval_ns = 2'288;  // 437,000 commands a second, and at least base and slope:
  double read_interval_base_ns = 300;
  double read_interval_ns_per_kib = 372.5;  // 2.56 GiB/s
  std::uint32_t dies = 32;
  double die_busy_ns = 65'000;   // per read
  double read_stall_ns = 6'000;  // how long a read that meets a programming die stops the drain
  // How long a read waits for a die that is programming, as quantiles.
  std::array<Point, 5> program_wait = {
      {{0, 68'000}, {0.77, 141'000}, {0.885, 180'000}, {0.943, 232'000}, {1, 300'000}}};
  double program_memory_ns = 5'000'000;  // time constant for the average share of programming dies
  double finish_program_share = 0.32;    // share of programming dies while zones are finished

  // Time of a finish: the smaller of two linear functions.
  double finish_nothing_ns = 14'000;
  double finish_base_ns = 6'300'000;
  double finish_mib_per_second = 1'197;
  double finish_little_base_ns = 2'600'000;
  double finish_little_mib_per_second = 600;

  // Time of a reset, by MiB in the zone. The drain stands still for the given share of it, without
  // reset_idle_ns.
  std::array<Point, 5> reset = {
      {{0, 1'600'000}, {64.62, 5'100'000}, {269.25, 7'800'000}, {538.5, 11'200'000}, {1077, 15'500'000}}};
  double reset_idle_ns = 1'600'000;
  double reset_exclusive_share = 12.0 / 13.9;

  double open_ns = 9'400;
  double close_ns = 10'700;

  bool zone_has_die = false;
  double zone_mib_per_second = 0;  // the following are used if the zone has a die
  double zone_buffer_kib = 0;
  std::uint64_t page_bytes = 16 << 10;  // each page of a read takes die_busy_ns
};

// The drive of zn540 with one die for each zone: 40 zones together have the drive's bandwidth.
[[nodiscard]] BufferedProfile SmallZoneProfile();

// Models the programming of a drive's flash as a fluid: the write buffer and the zones that are
// being finished share its bandwidth equally; resets and reads stop all of them for a while.
//
// Units: nanoseconds, for times and for work. Work is the time that the drain needs for it if it
// does nothing else. Pure; the caller locks.
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

class BufferedClock final : public DeviceClock {
 public:
  BufferedClock(const BufferedProfile& profile, std::uint32_t zones, std::uint64_t seed);

  SteadyTime Completion(const TimedCommand& command, SteadyTime sent) override;
  SteadyTime FinishCompletion(ZoneId zone, SteadyTime due) override;

 private:
  double Read(const TimedCommand& command, double now);
  double Write(const TimedCommand& command, double now);
  double Reset(std::uint64_t bytes, double now);
  double Finish(const TimedCommand& command, double now);
  double WriteLatency(std::uint64_t bytes);
  double AppendExtra(std::uint64_t bytes) const;
  double RoomInBuffer(std::uint64_t bytes);
  double RoomInZoneBuffer(const TimedCommand& command, double start);
  double DrainWork(std::uint64_t bytes) const;
  double ProgrammingShare(double now);
  double Uniform();  // in [0, 1)
  double Now(SteadyTime time);
  SteadyTime Time(double now) const;

  const BufferedProfile profile_;
  Random random_;
  WriteDrain drain_;
  std::optional<SteadyTime> origin_;  // time 0: when the first command was sent

  double next_write_ = 0;
  double last_acknowledged_ = 0;
  double held_until_ = 0;
  std::uint32_t writes_since_look_ = 0;
  std::uint64_t bytes_since_look_ = 0;
  std::vector<double> zone_free_;     // when the zone's last write is acknowledged
  std::vector<double> zone_drained_;  // when its die has programmed it

  double next_read_ = 0;
  std::vector<double> die_free_;
  double programmed_ = 0;  // recent work of the drain, with exponential decay
  double programmed_as_of_ = 0;

  struct FinishTail {
    ZoneId zone;
    double after_drain;  // time of a finish beyond its programming
  };
  std::vector<FinishTail> finish_tails_;
};

}  // namespace zenfs
