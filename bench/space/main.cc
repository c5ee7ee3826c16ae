// One policy on one trace, as a program that reports in lines of JSON; people use scripts/simulate-space.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "recorded_trace.h"
#include "run.h"
#include "workload.h"

namespace zenfs::space {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMib = 1 << 20;

struct Flags {
  bool list = false;
  std::string policy{DefaultPlacement()->name};
  std::string trace;
  std::uint64_t scale = 1;
  std::string workload{kWorkloads[0].name};
  double live = 0.8;
  std::uint64_t seed = 1;
  std::uint64_t file_mib = 256;
  std::uint64_t buffer_mib = 256;
  std::uint32_t writers = 8;
  std::uint32_t zones = 0;
  std::uint64_t zone_mib = 0;
  std::uint64_t capacity_mib = 0;
  std::uint32_t slots = 14;
  double warmup = 0;
  double writes = 0;
  bool busy = false;
  std::string write_trace;
};

void Print(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  static_cast<void>(::write(STDOUT_FILENO, text.data(), text.size()));
}

int List() {
  Json policies = Json::array();
  for (const PlacementPolicy& policy : PlacementPolicies()) policies.push_back(policy.name);
  Json workloads = Json::array();
  for (const WorkloadKind& kind : kWorkloads)
    workloads.push_back({{"name", kind.name}, {"title", kind.title}});
  Print({{"policies", policies}, {"workloads", workloads}});
  return 0;
}

// Writes the events that it passes on to a file: a workload as a trace.
class WrittenTrace final : public TraceSource {
 public:
  WrittenTrace(TraceSource& inner, const std::string& path, const TraceDevice& device)
      : inner_(inner), file_(path) {
    file_ << TraceHeaderText(device) << "\n" << TraceEventText({.what = TraceEvent::What::kBegin}) << "\n";
  }
  Result<std::optional<TraceEvent>> Next() override {
    auto event = inner_.Next();
    if (event && *event) file_ << TraceEventText(**event) << "\n";
    return event;
  }
  bool good() const { return file_.good(); }

 private:
  TraceSource& inner_;
  std::ofstream file_;
};

TraceDevice DeviceOf(const Flags& flags, const TraceDevice& traced) {
  TraceDevice device = traced;
  if (device.zones == 0) device = {.metadata_zones = 3, .max_open = flags.slots, .max_active = flags.slots};
  if (flags.zone_mib != 0) device.zone_size = flags.zone_mib * kMib;
  if (flags.capacity_mib != 0) device.zone_capacity = flags.capacity_mib * kMib;
  if (flags.zones != 0) device.zones = flags.zones;
  return device;
}

Json ToJson(const Flags& flags, const SimulatedZones& zones, const Measured& measured) {
  const SpaceCounts& counts = measured.counts;
  Json json{{"policy", flags.policy},
            {"zones", zones.geometry().zone_count},
            {"zone_capacity", zones.capacity()},
            {"data_capacity", zones.data_capacity()},
            {"events", measured.events},
            {"files_max", measured.files_max},
            {"user_bytes", counts.user_bytes()},
            {"log_bytes", counts.log_bytes},
            {"copied_bytes", counts.copied_bytes},
            {"padding_bytes", counts.padding_bytes + counts.finish_bytes},
            {"mixed_bytes", counts.mixed_bytes},
            {"write_amplification", counts.write_amplification()},
            {"space_amplification", measured.space_amplification},
            {"live_share", measured.live_share},
            {"zones_copied", counts.zones_copied},
            {"log_zones_cleaned", counts.log_zones_cleaned},
            {"resets", counts.resets},
            {"waits", counts.waits},
            {"no_space", measured.no_space}};
  json["samples"] = Json::array();
  for (const Sample& sample : measured.samples) {
    json["samples"].push_back({{"device_writes", sample.device_writes},
                               {"write_amplification", sample.write_amplification},
                               {"space_amplification", sample.space_amplification}});
  }
  return json;
}

Result<Json> Simulate(const Flags& flags) {
  const PlacementPolicy* const policy = FindPlacement(flags.policy);
  if (policy == nullptr)
    return Fail(Code::kInvalidArgument, fmt::format("there is no policy \"{}\"", flags.policy));
  std::unique_ptr<TraceSource> source;
  TraceDevice traced;
  if (!flags.trace.empty()) {
    ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<RecordedTrace> trace,
                           RecordedTrace::Open(flags.trace, flags.scale));
    traced = trace->device();
    source = std::move(trace);
  }
  const TraceDevice device = DeviceOf(flags, traced);
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<SimulatedZones> zones,
                         SimulatedZones::Create(device, *policy));
  if (source == nullptr) {
    const double live = flags.live * static_cast<double>(zones->data_capacity());
    source = MakeWorkload(flags.workload, {.live_bytes = static_cast<std::uint64_t>(live),
                                           .file_bytes = flags.file_mib * kMib,
                                           .buffer_bytes = flags.buffer_mib * kMib,
                                           .writers = flags.writers,
                                           .seed = flags.seed});
    if (source == nullptr) {
      return Fail(Code::kInvalidArgument, fmt::format("there is no workload \"{}\"", flags.workload));
    }
    if (flags.writes <= 0)
      return Fail(Code::kInvalidArgument, "a workload has no end; give the device writes to measure");
  }
  const SteadyTime begin = SteadyNow();
  SteadyTime said = begin;
  const Progress progress = [&](double done) {
    if (SteadyNow() - said < std::chrono::milliseconds(500)) return;
    said = SteadyNow();
    Print({{"progress", done}});
  };
  const RunOptions options{
      .warmup = flags.warmup, .measure = flags.writes, .pace = flags.busy ? Pace::kShares : Pace::kKeepsUp};
  std::optional<WrittenTrace> written;
  if (!flags.write_trace.empty()) written.emplace(*source, flags.write_trace, device);
  ZENFS_ASSIGN_OR_RETURN(const Measured measured,
                         Run(written ? *written : *source, *zones, options, progress));
  if (written && !written->good()) return Fail(Code::kIo, flags.write_trace + ": can't be written");
  Json json = ToJson(flags, *zones, measured);
  json["seconds"] = std::chrono::duration<double>(SteadyNow() - begin).count();
  return json;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Simulates the zones of a device under a trace.");
  app.add_flag("--list", flags.list);
  app.add_option("--policy", flags.policy);
  app.add_option("--trace", flags.trace);
  app.add_option("--scale", flags.scale)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
  app.add_option("--workload", flags.workload);
  app.add_option("--live", flags.live)->check(CLI::Range(0.01, 2.0));
  app.add_option("--seed", flags.seed);
  app.add_option("--file-mib", flags.file_mib)->check(CLI::Range(1, 1 << 20));
  app.add_option("--buffer-mib", flags.buffer_mib)->check(CLI::Range(1, 1 << 20));
  app.add_option("--writers", flags.writers)->check(CLI::Range(1, 1024));
  app.add_option("--zones", flags.zones);
  app.add_option("--zone-mib", flags.zone_mib);
  app.add_option("--capacity-mib", flags.capacity_mib);
  app.add_option("--slots", flags.slots);
  app.add_option("--warmup", flags.warmup);
  app.add_option("--writes", flags.writes);
  app.add_flag("--busy", flags.busy);
  app.add_option("--write-trace", flags.write_trace);
  CLI11_PARSE(app, argc, argv);
  if (flags.list) return List();
  const Result<Json> result = Simulate(flags);
  if (!result) {
    Print({{"error", result.error().ToString()}});
    return 1;
  }
  Print(*result);
  return 0;
}

}  // namespace
}  // namespace zenfs::space

int main(int argc, char** argv) { return zenfs::space::Main(argc, argv); }
