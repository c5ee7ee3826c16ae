#include "backends/host/write_order.h"

#include <fmt/format.h>

#include "backends/host/io_outcome.h"
#include "backends/host/scheduler.h"
#include "base/bytes.h"

namespace zenfs {

Status CheckWriteOrder(const std::string& name, const BlockFacts& facts, const std::string& release) {
  if (KeepsWritesInOrder(facts, release)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: its I/O scheduler '{}' may reorder the writes of a zone on Linux {}; as root: {}",
                  name, facts.scheduler.value_or("unknown"), release, SchedulerFix(facts.name)));
}

std::uint64_t LongestWrite(const BlockFacts& facts, const std::string& release) {
  const bool keeps_pieces = KernelPlugsZoneWrites(release) || facts.scheduler == kOrderedScheduler;
  if (keeps_pieces || facts.longest_command == 0) return kLongestCall;
  return RoundDown(facts.longest_command, facts.write_granularity);
}

}  // namespace zenfs
