// The simulator as a program: runs a range of seeds, or one that failed. Reports in lines of JSON;
// people use scripts/simulate.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/thread.h"
#include "questions.h"
#include "shrink.h"
#include "world.h"

namespace zenfs {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::uint64_t first = 1;
  std::uint64_t stride = 1;
  std::uint64_t count = UINT64_MAX;
  std::uint64_t seconds = 0;
  std::uint64_t twice_every = 50;
  std::optional<std::uint64_t> seed;
  std::string steps;
  std::optional<std::uint64_t> crash_after;
  bool shrink = false;
  bool keep_going = false;
  std::string ask;
};

void Print(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  static_cast<void>(::write(STDOUT_FILENO, text.data(), text.size()));
}

Json ToJson(std::uint64_t seed, const Outcome& outcome) {
  Json json{{"seed", seed},
            {"crashes", outcome.crashes},
            {"commands", outcome.commands},
            {"faults", outcome.faults},
            {"steps", outcome.steps.size()},
            {"out_of_space", outcome.out_of_space},
            {"fingerprint", fmt::format("{:016x}", outcome.fingerprint)}};
  if (!outcome.failure.empty()) {
    json["failure"] = outcome.failure;
    json["history"] = outcome.history;
    json["last_round_commands"] = outcome.last_round_commands;
    json["plan"] = DrawPlan(seed).Describe();
    json["threads"] = Json::array();
    for (const auto& thread : outcome.threads) {
      json["threads"].push_back({{"thread", thread.number}, {"stack", thread.stack}});
    }
  }
  return json;
}

Outcome RunSeed(std::uint64_t seed, const Selection& selection) {
  return RunPlan(DrawPlan(seed), selection, [seed](const Outcome& so_far, const std::string& why) {
    Outcome stuck = so_far;
    stuck.failure = "stuck: " + why;
    Print(ToJson(seed, stuck));
    std::_Exit(1);
  });
}

int RunRange(const Flags& flags) {
  const Deadline deadline =
      flags.seconds == 0 ? Deadline::Never() : Deadline::After(std::chrono::seconds(flags.seconds));
  std::uint64_t seed = flags.first;
  bool failed = false;
  for (std::uint64_t i = 0; i < flags.count && !deadline.Passed(); ++i, seed += flags.stride) {
    Outcome outcome = RunSeed(seed, {});
    if (outcome.failure.empty() && flags.twice_every != 0 && i % flags.twice_every == 0 &&
        RunSeed(seed, {}).fingerprint != outcome.fingerprint) {
      outcome.failure = "two runs of this seed differ: something is decided outside of the simulation";
    }
    Print(ToJson(seed, outcome));
    failed = failed || !outcome.failure.empty();
    if (failed && !flags.keep_going) break;
  }
  return failed ? 1 : 0;
}

// Prints the remaining steps, the point of the crash, and the failure that they give.
int RunShrink(const Flags& flags, const Selection& selection) {
  const Plan plan = DrawPlan(*flags.seed);
  Outcome outcome;
  // Runs in this process to get the list of steps. A run that does not end has none.
  if (FailureOf(plan, selection).empty()) {
    Print({{"seed", *flags.seed}, {"failure", ""}});
    return 0;
  }
  std::vector<StepId> steps;
  for (std::uint32_t round = 0; round < plan.rounds.size(); ++round) {
    for (std::uint32_t client = 0; client < plan.clients.size(); ++client) {
      for (std::uint32_t step = 0; step < plan.rounds[round].steps; ++step) {
        if (selection.Has({round, client, step})) steps.push_back({round, client, step});
      }
    }
  }
  const std::uint64_t crash_after = selection.crash_after.value_or(plan.rounds.back().crash_after);
  const Selection small = Shrink(plan, selection, steps, crash_after < 100000 ? crash_after : 2000,
                                 std::chrono::seconds(flags.seconds == 0 ? 60 : flags.seconds));
  Json json{{"seed", *flags.seed}, {"failure", FailureOf(plan, small)}, {"steps", small.StepsText()}};
  if (small.all) json["steps"] = "";
  if (small.crash_after) json["crash_after"] = *small.crash_after;
  Print(json);
  return 1;
}

int Run(const Flags& flags) {
  if (const Status known = Ask(flags.ask); !known.ok()) {
    Print({{"failure", known.error().ToString()}});
    return 2;
  }
  if (!flags.seed) return RunRange(flags);
  Selection selection;
  selection.crash_after = flags.crash_after;
  if (!flags.steps.empty()) {
    auto steps = Selection::ParseSteps(flags.steps);
    if (!steps) {
      Print({{"failure", steps.error().ToString()}});
      return 2;
    }
    selection.all = false;
    selection.steps = *std::move(steps);
  }
  if (flags.shrink) return RunShrink(flags, selection);
  const Outcome outcome = RunSeed(*flags.seed, selection);
  Print(ToJson(*flags.seed, outcome));
  return outcome.failure.empty() ? 0 : 1;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  // Before a process has had a second thread, libstdc++ counts references without atomics, which
  // the thread sanitizer would report as races of the simulated threads.
  zenfs::Thread("never-alone", [] {}).Join();
  zenfs::Flags flags;
  CLI::App app{"Runs ZenFS through seeded crashes and faults; scripts/simulate is what people call"};
  app.add_option("--first", flags.first, "First seed");
  app.add_option("--stride", flags.stride, "From one seed to the next");
  app.add_option("--count", flags.count, "How many seeds");
  app.add_option("--time", flags.seconds,
                 "Seconds after which no seed is begun; with --shrink: for shrinking");
  app.add_option("--twice-every", flags.twice_every, "Runs one in so many seeds twice and compares; 0: none");
  app.add_option("--seed", flags.seed, "This seed alone");
  app.add_option("--steps", flags.steps, "With --seed: only these steps, as --shrink prints them");
  app.add_option("--crash-after", flags.crash_after,
                 "With --seed: commands until the crash of the last round");
  app.add_flag("--keep-going", flags.keep_going, "Goes on with the next seed when one fails");
  app.add_flag("--shrink", flags.shrink, "With --seed: find fewer steps that still fail");
  app.add_option("--ask", flags.ask, "Also these questions of questions.h, separated by commas, or all");
  CLI11_PARSE(app, argc, argv);
  return zenfs::Run(flags);
}
