#include "simulated.h"

#include "input.h"
#include "testing/sim_scheduler.h"

namespace zenfs {
namespace {

// Few switches: a target needs many inputs rather than many interleavings.
constexpr std::uint64_t kSwitchOneIn = 64;

}  // namespace

void RunSimulated(const std::function<void()>& body) {
  SimScheduler::Options options;
  options.switch_one_in = kSwitchOneIn;
  options.on_stuck = [](const std::string& why, const auto&) { Require(false, why); };
  SimScheduler(std::move(options)).Run(body);
}

}  // namespace zenfs
