#include "cli/watch.h"

#include "base/clock.h"
#include "cli/number.h"

namespace zenfs {
namespace {

constexpr double kMinSeconds = 0.1;
constexpr double kMaxSeconds = 86'400;

std::chrono::milliseconds ParseInterval(const std::string& text) {
  const auto interval = ParseSeconds(text, kMinSeconds, kMaxSeconds);
  if (!interval) throw CLI::ValidationError("--watch", interval.error().text());
  return *interval;
}

// Overwrites the old output line by line to avoid flicker.
std::string InPlace(const std::string& text) {
  std::string out = "\033[H";
  for (const char c : text) out += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
  return out + "\033[J";
}

}  // namespace

WatchOption::WatchOption(CLI::App& app) {
  option_ = app.add_option_function<std::string>(
                   "--watch",
                   [this](const std::string& text) {
                     if (!text.empty()) interval_ = ParseInterval(text);
                   },
                   "Repeat every SECONDS (default: 2), until interrupted")
                ->type_name("SECONDS")
                ->expected(0, 1);
}

Status WatchOption::Run(Console& console, std::string_view between,
                        const std::function<Result<StyledText>()>& draw) const {
  const bool in_place = console.terminal().is_terminal;
  SteadyTime next = SteadyNow();
  for (bool first = true;; first = false) {
    ZENFS_ASSIGN_OR_RETURN(const StyledText text, draw());
    if (in_place) {
      console.PrintBytes((first ? "\033[2J" : "") + InPlace(text.WithSequences()));
    } else {
      if (!first) console.Print(between);
      console.Print(text);
    }
    ZENFS_RETURN_IF_ERROR(console.Flush());
    next += interval_;
    SleepUntil(next);
  }
}

}  // namespace zenfs
