#include "world/allowed_errors.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace zenfs {
namespace {

using FaultRate = std::uint32_t SimFaults::*;

constexpr FaultRate kOfWrites[] = {&SimFaults::write_error, &SimFaults::write_short,
                                   &SimFaults::write_unknown};
constexpr FaultRate kOfFlushes[] = {&SimFaults::flush_error, &SimFaults::flush_loses};
// One of the three metadata zones may turn read-only. If every zone that a log switch tries turns
// full, the waiting commit fails, or no zone is left.
constexpr FaultRate kOfZones[] = {&SimFaults::zone_full, &SimFaults::zone_read_only};

bool HasAny(const SimFaults& faults, std::span<const FaultRate> kinds) {
  return std::ranges::any_of(kinds, [&](const FaultRate kind) { return faults.*kind != 0; });
}

}  // namespace

// Failed reads, reports and resets are handled inside, once a volume is mounted.
bool MayFailWith(const SimFaults& faults, Code code) {
  const bool writes = HasAny(faults, kOfWrites);
  const bool flushes = HasAny(faults, kOfFlushes);
  switch (code) {
    case Code::kIo: return writes || flushes || HasAny(faults, kOfZones) || faults.zone_offline != 0;
    case Code::kCorruption: return faults.flush_loses != 0;  // a log whose only copy the device has lost
    case Code::kUnknownOutcome:
    case Code::kReadOnly: return writes || flushes || HasAny(faults, kOfZones);  // no metadata zone is left
    case Code::kBusy:
    case Code::kTimedOut:
      return faults.finish_error != 0;  // zones that could not be finished keep their slots
    default: return false;
  }
}

// Zones turn offline only while they are empty.
bool MayReadFailWith(const SimFaults& faults, Code code) {
  return faults.flush_loses != 0 && (code == Code::kIo || code == Code::kCorruption);
}

// A report is sent three times; a metadata zone without a report is not reset. Lost zones may leave
// the device without room for replayed bytes.
bool MayMountFailWith(const SimFaults& faults, Code code) {
  if (faults.report_error != 0 && (code == Code::kIo || code == Code::kReadOnly)) return true;
  return code == Code::kNoSpace || MayFailWith(faults, code);
}

}  // namespace zenfs
