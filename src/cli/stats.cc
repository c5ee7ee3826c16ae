#include "cli/stats.h"

#include <fmt/format.h>

#include <array>

#include "base/clock.h"
#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/metrics_source.h"
#include "cli/number.h"
#include "cli/verbs.h"
#include "cli/watch.h"

namespace zenfs {
namespace {

// Rounds to three significant digits.
std::string Short(double value, std::string_view unit) {
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::uint64_t Mean(const LatencyHistogram& latency) {
  return latency.count == 0 ? 0 : latency.sum / latency.count;
}

Json LatencyJson(const LatencyHistogram& latency) {
  return {{"timed", latency.count},
          {"sum", ToMicroseconds(latency.sum)},
          {"mean", ToMicroseconds(Mean(latency))},
          {"p50", ToMicroseconds(latency.Quantile(0.5))},
          {"p99", ToMicroseconds(latency.Quantile(0.99))},
          {"p99.9", ToMicroseconds(latency.Quantile(0.999))},
          {"max", ToMicroseconds(latency.max)}};
}

std::string Row(std::string_view name, const OperationInfo& info, const OperationFigures& figures,
                std::optional<double> seconds) {
  const double per = seconds.value_or(1);
  const LatencyHistogram& latency = figures.latency;
  std::string bytes = info.has_bytes ? ShortBytes(static_cast<double>(figures.bytes) / per) : "-";
  if (seconds && info.has_bytes) bytes += "/s";
  std::string out = fmt::format("{:<17}{:>12}{:>9}{:>14}", name,
                                seconds ? fmt::format("{:.1f}/s", static_cast<double>(figures.count) / per)
                                        : fmt::to_string(figures.count),
                                figures.errors, bytes);
  const std::array<std::uint64_t, 5> columns = {Mean(latency), latency.Quantile(0.5), latency.Quantile(0.99),
                                                latency.Quantile(0.999), latency.max};
  for (const std::uint64_t column : columns) {
    out += fmt::format("{:>9}", latency.count == 0 ? "-" : ShortDuration(column));
  }
  return out + "\n";
}

// How frames of the log are sent, and why (wal/zone_append.h).
std::string LogSending(const MetricsSnapshot& metrics) {
  const bool appends = metrics[Value::kWalAppends] != 0;
  const std::array<std::string_view, 2> ways = {"writes", "zone append"};
  const std::array<std::uint64_t, 2> times = {metrics[Value::kFrameWriteTime],
                                              metrics[Value::kFrameAppendTime]};
  const std::string out = fmt::format("\nlog frames are sent by {}", ways[appends ? 1 : 0]);
  if (times[0] == 0 || times[1] == 0) return out + "\n";
  return out + fmt::format(": one takes {}, by {} {}\n", ShortDuration(times[appends ? 1 : 0]),
                           ways[appends ? 0 : 1], ShortDuration(times[appends ? 0 : 1]));
}

}  // namespace

std::string ShortDuration(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  const auto value = static_cast<double>(nanoseconds);
  if (value < 999.5e3) return Short(value / 1e3, "us");
  if (value < 999.5e6) return Short(value / 1e6, "ms");
  return Short(value / 1e9, "s");
}

std::string StatsTable(const StatsView& view) {
  std::string out = fmt::format("{:<17}{:>12}{:>9}{:>14}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "operation", "calls",
                                "errors", "bytes", "mean", "p50", "p99", "p99.9", "max");
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const OperationInfo& info = Operations()[i];
    const OperationFigures& figures = view.metrics.operations[i];
    if (figures.count > 0) out += Row(info.name, info, figures, view.interval_seconds);
  }
  out += "\n";
  for (std::size_t i = 0; i < kValueCount; ++i) {
    const ValueInfo& info = Values()[i];
    if (!info.counter) continue;
    const double value = InUnit(info, view.metrics.values[i]);
    std::string_view name = info.name;
    name.remove_suffix(std::string_view("_total").size());
    const double rate = value / view.interval_seconds.value_or(1);
    std::string shown = info.unit == "bytes"    ? ShortBytes(rate)
                        : info.per_unit > 1     ? fmt::format("{:.3f}", rate)
                        : view.interval_seconds ? fmt::format("{:.1f}", rate)
                                                : fmt::to_string(view.metrics.values[i]);
    if (view.interval_seconds) shown += "/s";
    out += fmt::format("{:<29}{:>14}\n", name, shown);
  }
  return out + LogSending(view.metrics);
}

Json StatsJson(const StatsView& view) {
  Json operations = Json::object();
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const OperationInfo& info = Operations()[i];
    const OperationFigures& figures = view.metrics.operations[i];
    Json entry = {{"count", figures.count}, {"errors", figures.errors}};
    if (info.has_bytes) entry["bytes"] = figures.bytes;
    if (view.interval_seconds)
      entry["per_second"] = static_cast<double>(figures.count) / *view.interval_seconds;
    entry["latency_us"] = LatencyJson(figures.latency);
    operations[std::string(info.name)] = std::move(entry);
  }
  Json values = Json::object();
  for (std::size_t i = 0; i < kValueCount; ++i) {
    const ValueInfo& info = Values()[i];
    Json& value = values[std::string(info.name)];
    value = view.metrics.values[i];
    if (info.per_unit > 1) value = InUnit(info, view.metrics.values[i]);
  }
  Json out = Json::object();
  if (view.interval_seconds) out["interval_seconds"] = *view.interval_seconds;
  out["operations"] = std::move(operations);
  out["values"] = std::move(values);
  return out;
}

namespace {

std::string Ago(std::uint64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string HeadLine(const std::string& name, const MetricsSnapshot& metrics) {
  const std::uint64_t now = WallSeconds();
  const std::uint64_t mounted = std::min(now, metrics[Value::kMountTime]);
  return fmt::format("{}: epoch {}, mounted {} ago, {} open\n\n", Printable(name), metrics[Value::kEpoch],
                     Ago(now - mounted), Counted(metrics[Value::kOpenFiles], "file"));
}

class StatsAction : public Action {
 public:
  explicit StatsAction(CLI::App& app) : device_(app), watch_(app) {
    AddJson(app, json_);
    app.add_option("--page", page_,
                   "Read this file of metrics: shared memory, also of a dead program, or a metrics_file")
        ->type_name("FILE");
  }

  Result<int> Run(Console& console) override {
    if (page_.empty()) {
      // Without notices: the counters of the writer are not data of files.
      ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
      ZENFS_ASSIGN_OR_RETURN(const auto volume, Volume::Mount(std::move(named.device), named.mount_options));
      name_ = volume->info().device_name;
      ZENFS_ASSIGN_OR_RETURN(path_, SharedMemoryOf(*volume));
    } else {
      name_ = path_ = page_;
    }
    if (watch_.given()) {
      return Fail(watch_.Run(console, json_ ? "" : "\n", [this] { return Interval(); }).error());
    }
    ZENFS_ASSIGN_OR_RETURN(const MetricsSnapshot metrics, Read());
    if (json_) {
      console.PrintJson(StatsJson({.metrics = metrics, .interval_seconds = {}}));
    } else {
      console.Print(HeadLine(name_, metrics) + StatsTable({.metrics = metrics, .interval_seconds = {}}));
    }
    return 0;
  }

 private:
  Result<MetricsSnapshot> Read() const { return ReadSharedMetrics(path_, page_.empty()); }

  // JSON: one object per line.
  Result<StyledText> Interval() {
    ZENFS_ASSIGN_OR_RETURN(const MetricsSnapshot now, Read());
    const StatsView view = intervals_.Next(now);
    StyledText text;
    text.Add(json_ ? JsonText(StatsJson(view), -1) + "\n" : HeadLine(name_, now) + StatsTable(view));
    return text;
  }

  DeviceOption device_;
  WatchOption watch_;
  bool json_ = false;
  std::string page_;
  std::string name_;
  std::string path_;
  MetricsIntervals intervals_;
};

}  // namespace

std::unique_ptr<Action> MakeStats(CLI::App& app) { return MakeAction<StatsAction>(app); }

}  // namespace zenfs
