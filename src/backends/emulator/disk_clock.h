// Models the time of a shingled disk with host-managed zones: profile smr. DiskProfile holds all its numbers (docs/use/timing.md).
//
// One arm serves everything. A transfer that begins where the last one ended costs the time of its bytes; any other costs a seek
// and the wait until the sector comes by. While the disk has nothing to do behind a read, it reads on. A write is acknowledged when
// it is in the write cache, which is volatile: a flush waits until the arm has written it all. The arm writes what continues at its
// place first, then what waits longest; a read goes before what waits.
#pragma once

#include <deque>

#include "backends/emulator/timing.h"

namespace zenfs {

struct DiskProfile {
  std::chrono::nanoseconds overhead{100'000};   // of a command: controller and interface
  std::uint64_t interface_bytes = 550'000'000;  // a second
  std::uint64_t outer_bytes = 250'000'000;      // a second, in the first zone
  std::uint64_t inner_bytes = 120'000'000;      // a second, in the last
  std::chrono::nanoseconds revolution{8'333'333};
  // A seek over a share d of the stroke takes settle + stroke * sqrt(d): in the mean of all 7.4 ms to read and 8.2 ms to write.
  std::chrono::nanoseconds read_settle{230'000};
  std::chrono::nanoseconds read_stroke{13'440'000};
  std::chrono::nanoseconds write_settle{320'000};
  std::chrono::nanoseconds write_stroke{14'780'000};
  std::uint64_t cache_bytes = 256 << 20;
  std::uint64_t read_ahead_bytes = 8 << 20;
};

class DiskClock final : public DeviceClock {
 public:
  DiskClock(const DiskProfile& profile, std::uint32_t zones, std::uint64_t zone_bytes);

  SteadyTime Completion(const TimedCommand& command, SteadyTime sent) override;
  SteadyTime FinishCompletion(ZoneId, SteadyTime due) override { return due; }

 private:
  // Bytes in the write cache that are one behind the other on the disk.
  struct Run {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
    SteadyTime arrived{};
  };
  enum class Way { kRead, kWrite };

  SteadyTime Read(std::uint64_t at, std::uint64_t bytes, SteadyTime sent);
  SteadyTime Write(std::uint64_t at, std::uint64_t bytes, SteadyTime sent);
  // Writes runs that the arm begins before `until`.
  void WriteBack(SteadyTime until);
  void WriteNext();
  std::size_t NextRun() const;
  // When the head is at `at`, if the arm sets out at `begin`.
  SteadyTime Reach(std::uint64_t at, SteadyTime begin, Way way) const;
  void Transfer(std::uint64_t at, std::uint64_t bytes, SteadyTime begin);

  double BytesPerSecond(std::uint64_t at) const;
  std::chrono::nanoseconds TransferTime(std::uint64_t at, std::uint64_t bytes) const;
  std::chrono::nanoseconds InterfaceTime(std::uint64_t bytes) const;

  const DiskProfile profile_;
  const std::uint64_t zone_bytes_;
  const std::uint64_t disk_bytes_;
  SteadyTime arm_free_{};     // when the arm has done all that it has begun
  std::uint64_t arm_at_ = 0;  // where it is then
  bool reads_on_ = false;     // the last transfer was a read
  std::deque<Run> cached_;    // the oldest first
  std::uint64_t cached_bytes_ = 0;
};

}  // namespace zenfs
