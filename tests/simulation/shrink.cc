#include "shrink.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"

namespace zenfs {
namespace {

constexpr int kTrySecondsMax = 20;

void Say(int fd, const std::string& text) { static_cast<void>(::write(fd, text.data(), text.size())); }

[[noreturn]] void RunChild(const Plan& plan, const Selection& selection, int to) {
  ::dup2(to, STDERR_FILENO);  // also for the sanitizers' reports
  const Outcome outcome = RunPlan(plan, selection, [to](const Outcome&, const std::string& why) {
    Say(to, why);
    std::_Exit(1);
  });
  Say(to, outcome.failure);
  std::_Exit(outcome.failure.empty() ? 0 : 1);
}

// Reads until the end of the input or the deadline.
std::string ReadAll(int from, Deadline deadline) {
  std::string text;
  char buffer[4096];
  pollfd wait{.fd = from, .events = POLLIN, .revents = 0};
  while (!deadline.Passed()) {
    if (poll(&wait, 1, 100) == 0) continue;
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

class Shrinker {
 public:
  Shrinker(const Plan& plan, Selection failing, std::uint64_t commands, std::chrono::seconds time)
      : plan_(plan), best_(std::move(failing)), commands_(commands), deadline_(Deadline::After(time)) {}

  // Removes pieces, large ones first: delta debugging.
  Selection Run(const std::vector<StepId>& steps) {
    std::vector<StepId> left(steps);
    std::ranges::sort(left);
    for (std::size_t piece = std::max<std::size_t>(1, left.size() / 2); !deadline_.Passed();) {
      bool smaller = false;
      for (std::size_t at = 0; at < left.size() && !deadline_.Passed();) {
        std::vector<StepId> without = left;
        const auto first = without.begin() + static_cast<std::ptrdiff_t>(at);
        without.erase(first, first + static_cast<std::ptrdiff_t>(std::min(piece, without.size() - at)));
        if (StillFails(without)) {
          left = std::move(without);
          smaller = true;
        } else {
          at += piece;
        }
      }
      if (!smaller && piece == 1) break;
      if (!smaller) piece = std::max<std::size_t>(1, piece / 2);
    }
    return best_;
  }

 private:
  bool Try(const Selection& selection) {
    if (FailureOf(plan_, selection).empty()) return false;
    best_ = selection;
    return true;
  }

  // With fewer steps, the same crash comes after fewer commands.
  bool StillFails(const std::vector<StepId>& steps) {
    Selection selection{
        .all = false, .steps = {steps.begin(), steps.end()}, .crash_after = best_.crash_after};
    if (Try(selection)) return true;
    const std::uint64_t most = selection.crash_after.value_or(commands_);
    for (std::uint64_t i = 1; i <= 12 && !deadline_.Passed(); ++i) {
      selection.crash_after = most * (12 - i) / 12;
      if (Try(selection)) return true;
    }
    return false;
  }

  const Plan& plan_;
  Selection best_;
  const std::uint64_t commands_;
  const Deadline deadline_;
};

}  // namespace

std::string FailureOf(const Plan& plan, const Selection& selection) {
  int ends[2];  // not a UniqueFd, which the child could not write to
  if (::pipe(ends) != 0) return {};
  const auto [from, to] = ends;
  const pid_t child = fork();
  if (child == 0) RunChild(plan, selection, to);
  ::close(to);
  std::string text;
  if (child >= 0) text = ReadAll(from, Deadline::After(std::chrono::seconds(kTrySecondsMax)));
  ::close(from);
  if (child < 0) return {};
  kill(child, SIGKILL);  // no effect if it has ended
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (!text.empty()) return text;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "it hangs"
                                                            : fmt::format("it dies, status {}", status);
}

Selection Shrink(const Plan& plan, const Selection& failing, const std::vector<StepId>& steps,
                 std::uint64_t commands, std::chrono::seconds time) {
  return Shrinker(plan, failing, commands, time).Run(steps);
}

}  // namespace zenfs
