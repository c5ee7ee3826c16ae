#include "backends/emulator/timing.h"

#include <fmt/format.h>

#include "backends/emulator/buffered_clock.h"
#include "backends/emulator/bufferless_clock.h"
#include "backends/emulator/disk_clock.h"

namespace zenfs {
namespace {

constexpr Timing kTimings[] = {Timing::kNone, Timing::kZn540, Timing::kBufferless, Timing::kSmr,
                               Timing::kSmallZone};

}  // namespace

std::string_view TimingName(Timing timing) {
  switch (timing) {
    case Timing::kNone: return "none";
    case Timing::kZn540: return "zn540";
    case Timing::kBufferless: return "bufferless";
    case Timing::kSmr: return "smr";
    case Timing::kSmallZone: return "smallzone";
  }
  return "none";
}

Result<Timing> ParseTiming(std::string_view name) {
  for (const Timing timing : kTimings) {
    if (TimingName(timing) == name) return timing;
  }
  return Fail(
      Code::kInvalidArgument,
      fmt::format("unknown timing profile {}; known: none, zn540, bufferless, smr and smallzone", name));
}

std::optional<Timing> TimingOfNumber(std::uint32_t number) {
  for (const Timing timing : kTimings) {
    if (static_cast<std::uint32_t>(timing) == number) return timing;
  }
  return std::nullopt;
}

TimedCommand TimedManagement(TimedCommand::Kind kind, ZoneId zone, ZoneCondition condition,
                             std::uint64_t written, std::uint64_t capacity) {
  const bool full = condition == ZoneCondition::kFull;
  TimedCommand timed{kind, zone, 0};
  if (written == 0) return timed;
  if (kind == TimedCommand::Kind::kReset) timed.bytes = full ? capacity : written;
  if (kind == TimedCommand::Kind::kFinish && !full) timed.bytes = capacity - written;
  return timed;
}

std::unique_ptr<DeviceClock> MakeDeviceClock(Timing timing, std::uint32_t zones, std::uint64_t zone_bytes,
                                             std::uint64_t seed) {
  switch (timing) {
    case Timing::kNone: return nullptr;
    case Timing::kZn540: return std::make_unique<BufferedClock>(BufferedProfile{}, zones, seed);
    case Timing::kBufferless: return std::make_unique<BufferlessClock>(BufferlessProfile{}, zones);
    case Timing::kSmallZone: return std::make_unique<BufferedClock>(SmallZoneProfile(), zones, seed);
    case Timing::kSmr: return std::make_unique<DiskClock>(DiskProfile{}, zones, zone_bytes);
  }
  return nullptr;
}

}  // namespace zenfs
