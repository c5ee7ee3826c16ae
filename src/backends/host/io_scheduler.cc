#include "backends/host/io_scheduler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/host/plain_io.h"
#include "base/bytes.h"
#include "base/unique_fd.h"

namespace zenfs {
namespace {

// True if the pieces of a split write also stay in order.
bool KeepsPiecesInOrder(const BlockFacts& facts, const std::string& release) {
  return KernelPlugsZoneWrites(release) || facts.scheduler == kOrderedScheduler;
}

}  // namespace

bool KeepsWritesInOrder(const BlockFacts& facts, const std::string& release) {
  if (KeepsPiecesInOrder(facts, release)) return true;
  return std::ranges::find(facts.schedulers, kOrderedScheduler) == facts.schedulers.end();
}

Status CheckWriteOrder(const std::string& name, const BlockFacts& facts, const std::string& release) {
  if (KeepsWritesInOrder(facts, release)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: its I/O scheduler '{}' may reorder the writes of a zone on Linux {}; as root: {}",
                  name, facts.scheduler.value_or("unknown"), release, SchedulerFix(facts.name)));
}

std::uint64_t LongestWrite(const BlockFacts& facts, const std::string& release) {
  if (KeepsPiecesInOrder(facts, release) || facts.longest_command == 0) return kLongestCall;
  return std::max<std::uint64_t>(RoundDown(facts.longest_command, facts.write_granularity),
                                 facts.write_granularity);
}

std::string SchedulerFix(const std::string& name) {
  return fmt::format("echo {} > /sys/block/{}/queue/scheduler", kOrderedScheduler, name);
}

Status SetScheduler(const std::string& name, std::string_view scheduler, const std::string& sysfs) {
  const std::string path = fmt::format("{}/block/{}/queue/scheduler", sysfs, name);
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid() && ::write(fd.get(), scheduler.data(), scheduler.size()) >= 0) return {};
  const int error = errno;
  switch (error) {
    case ENOENT: return FailErrno(error, fmt::format("{} has no scheduler to set ({})", name, path));
    case EINVAL:
      return Fail(Code::kNotSupported, fmt::format("{}: this kernel has no scheduler {} (try: modprobe {})",
                                                   name, scheduler, scheduler));
    default:
      return Fail(ErrnoError(error, fmt::format("{}: the scheduler can't be set to {}", name, scheduler))
                      .Advise(fmt::format("as root: {}", SchedulerFix(name))));
  }
}

}  // namespace zenfs
