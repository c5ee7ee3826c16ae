// Models the time of a drive without a write buffer: profile bufferless. A write is acknowledged
// when the flash has been programmed. BufferlessProfile holds all its numbers (docs/use/timing.md).
//
// The pages of a write or append go to the program units in turn. A unit takes the bytes of its
// next page while it programs the previous one, and programs one page at a time. Writes of one zone
// run one after the other; appends do not. The pages of a read go to the units in turn as well. A
// read waits there for earlier reads and for the page that is being programmed, and goes before the
// pages that wait.
#pragma once

#include <vector>

#include "backends/emulator/timing.h"

namespace zenfs {

struct BufferlessProfile {
  std::uint32_t units = 16;
  std::uint64_t page_bytes = 16 << 10;
  std::chrono::nanoseconds transfer{25'000};  // of a page to its unit
  std::chrono::nanoseconds program{450'000};
  std::chrono::nanoseconds read{134'200};  // of a page or a part of it: 1 GiB in pieces of 4 KiB takes 2.2 s
  std::chrono::nanoseconds open{9'400};
  std::chrono::nanoseconds close{10'700};
};

class BufferlessClock final : public DeviceClock {
 public:
  BufferlessClock(const BufferlessProfile& profile, std::uint32_t zones);

  // Resets and finishes take no time: no measurement of them is known.
  SteadyTime Completion(const TimedCommand& command, SteadyTime sent) override;
  SteadyTime FinishCompletion(ZoneId, SteadyTime due) override { return due; }

 private:
  struct Unit {
    SteadyTime register_free{};  // when programming of the last transferred page begins
    SteadyTime programmed{};     // when its last page is programmed
    SteadyTime read{};           // when its last read ends
  };

  SteadyTime Program(std::uint64_t bytes, SteadyTime start);
  SteadyTime Read(std::uint64_t bytes, SteadyTime start);

  const BufferlessProfile profile_;
  std::vector<Unit> units_;
  std::uint64_t next_program_ = 0;
  std::uint64_t next_read_ = 0;
  std::vector<SteadyTime> zone_free_;  // when the zone's last write is acknowledged
};

}  // namespace zenfs
