#include "world/excuses.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace zenfs {
namespace {

using Kind = std::uint32_t SimFaults::*;

constexpr Kind kOfWrites[] = {&SimFaults::write_error, &SimFaults::write_short, &SimFaults::write_unknown};
constexpr Kind kOfFlushes[] = {&SimFaults::flush_error, &SimFaults::flush_loses};
// Three metadata zones, of which one may turn read-only: where every zone that a roll tries turns full, the commit that
// waits for it fails, or no zone is left.
constexpr Kind kOfZones[] = {&SimFaults::zone_full, &SimFaults::zone_read_only};

bool HasAny(const SimFaults& faults, std::span<const Kind> kinds) {
  return std::ranges::any_of(kinds, [&](const Kind kind) { return faults.*kind != 0; });
}

}  // namespace

// Reads, reports and resets that fail are nobody's concern but ours, once a volume is mounted.
bool MayFailWith(const SimFaults& faults, Code code) {
  const bool writes = HasAny(faults, kOfWrites);
  const bool flushes = HasAny(faults, kOfFlushes);
  switch (code) {
    case Code::kIo: return writes || flushes || HasAny(faults, kOfZones) || faults.zone_offline != 0;
    case Code::kCorruption:
      return faults.flush_loses != 0;  // a log of which the device has lost what only it had
    case Code::kUnknownOutcome:
    case Code::kReadOnly: return writes || flushes || HasAny(faults, kOfZones);  // no metadata zone is left
    case Code::kBusy:
    case Code::kTimedOut:
      return faults.finish_error != 0;  // zones that could not be finished hold the device's slots
    default: return false;
  }
}

// Zones turn offline while nothing is in them.
bool MayReadFailWith(const SimFaults& faults, Code code) {
  return faults.flush_loses != 0 && (code == Code::kIo || code == Code::kCorruption);
}

// A report is sent three times; a metadata zone of which there is none is not emptied. What zones are lost may leave a
// device without room for what is to be brought back.
bool MayMountFailWith(const SimFaults& faults, Code code) {
  if (faults.report_error != 0 && (code == Code::kIo || code == Code::kReadOnly)) return true;
  return code == Code::kNoSpace || MayFailWith(faults, code);
}

}  // namespace zenfs
