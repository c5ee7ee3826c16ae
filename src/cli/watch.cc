#include "cli/watch.h"

#include "base/clock.h"
#include "cli/number.h"

namespace zenfs {

std::chrono::milliseconds ParseInterval(const std::string& flag, const std::string& text) {
  constexpr double kMinSeconds = 0.1;
  constexpr double kMaxSeconds = 86'400;
  const auto interval = ParseSeconds(text, kMinSeconds, kMaxSeconds);
  if (!interval) throw CLI::ValidationError(flag, interval.error().text());
  return *interval;
}

WatchOption::WatchOption(CLI::App& app) {
  option_ = app.add_option_function<std::string>(
                   "--watch",
                   [this](const std::string& text) {
                     if (!text.empty()) interval_ = ParseInterval("--watch", text);
                   },
                   "Repeat every SECONDS (default: 2), until interrupted; on a terminal as a full screen")
                ->type_name("SECONDS")
                ->expected(0, 1);
}

Status WatchOption::Run(Console& console, std::string_view between,
                        const std::function<Result<StyledText>()>& draw) const {
  SteadyTime next = SteadyNow();
  for (bool first = true;; first = false) {
    ZENFS_ASSIGN_OR_RETURN(const StyledText text, draw());
    if (!first) console.Print(between);
    console.Print(text);
    ZENFS_RETURN_IF_ERROR(console.Flush());
    next += interval_;
    SleepUntil(next);
  }
}

}  // namespace zenfs
