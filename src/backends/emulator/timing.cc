#include "backends/emulator/timing.h"

#include <fmt/format.h>

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

}  // namespace zenfs
