#include "cli/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/metrics_source.h"
#include "cli/number.h"
#include "cli/screen.h"
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

// Without the suffix of counters.
std::string_view NameOfCounter(const ValueInfo& info) {
  return info.name.substr(0, info.name.size() - std::string_view("_total").size());
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

}  // namespace

std::string ShortDuration(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  const auto value = static_cast<double>(nanoseconds);
  if (value < 999.5e3) return Short(value / 1e3, "us");
  if (value < 999.5e6) return Short(value / 1e6, "ms");
  return Short(value / 1e9, "s");
}

double SecondsOf(const StatsView& view) {
  if (view.interval_seconds) return *view.interval_seconds;
  const std::uint64_t now = WallSeconds();
  return static_cast<double>(
      std::max<std::uint64_t>(1, now - std::min(now, view.metrics[Value::kMountTime])));
}

std::string SpanOf(const StatsView& view) {
  return view.interval_seconds ? fmt::format("last {:.1f} s", *view.interval_seconds)
                               : "average since the mount";
}

namespace {

// What a cell of the table of operations is made from.
struct OperationCell {
  const OperationInfo& info;
  const OperationFigures& now;
  const OperationFigures& total;
  double seconds;

  std::string Rate() const {
    const double rate = static_cast<double>(now.count) / seconds;
    return fmt::format("{:.{}f}", rate, rate < 1000 ? 1 : 0);
  }
  std::string ByteRate() const {
    return info.has_bytes ? ShortBytes(static_cast<double>(now.bytes) / seconds) : "-";
  }
  std::string Latency(std::uint64_t nanoseconds) const {
    return now.latency.count == 0 ? "-" : ShortDuration(nanoseconds);
  }
};

struct OperationColumn {
  std::string_view title;
  int width;
  int rank;  // columns of low rank stay if there is no room for all
  std::string (*text)(const OperationCell& cell);
};
constexpr int kNameWidth = 17;
constexpr OperationColumn kOperationColumns[] = {
    {"calls/s", 10, 2, [](const OperationCell& cell) { return cell.Rate(); }},
    {"bytes/s", 11, 0, [](const OperationCell& cell) { return cell.ByteRate(); }},
    {"mean", 9, 6, [](const OperationCell& cell) { return cell.Latency(Mean(cell.now.latency)); }},
    {"p50", 9, 4, [](const OperationCell& cell) { return cell.Latency(cell.now.latency.Quantile(0.5)); }},
    {"p99", 9, 1, [](const OperationCell& cell) { return cell.Latency(cell.now.latency.Quantile(0.99)); }},
    {"p99.9", 9, 7, [](const OperationCell& cell) { return cell.Latency(cell.now.latency.Quantile(0.999)); }},
    {"max", 9, 5, [](const OperationCell& cell) { return cell.Latency(cell.now.latency.max); }},
    {"errors", 8, 3, [](const OperationCell& cell) { return fmt::to_string(cell.total.errors); }},
    {"all calls", 12, 8, [](const OperationCell& cell) { return fmt::to_string(cell.total.count); }},
    {"all bytes", 11, 9,
     [](const OperationCell& cell) { return cell.info.has_bytes ? ShortBytes(cell.total.bytes) : "-"; }},
};
constexpr int kErrorsRank = 3;

// The rank of the last column that has room.
int LastRank(int columns) {
  int left = columns - kNameWidth;
  int rank = -1;
  while (rank + 1 < static_cast<int>(std::size(kOperationColumns))) {
    const auto next = std::ranges::find(kOperationColumns, rank + 1, &OperationColumn::rank);
    left -= next->width;
    if (left < 0) break;
    ++rank;
  }
  return rank;
}

}  // namespace

StyledText OperationTable(const StatsView& view, const MetricsSnapshot& totals,
                          std::span<const Operation> operations, int columns) {
  const int last = LastRank(columns);
  StyledText out;
  std::string titles = fmt::format("{:<{}}", "operation", kNameWidth);
  for (const OperationColumn& column : kOperationColumns) {
    if (column.rank <= last) titles += fmt::format("{:>{}}", column.title, column.width);
  }
  out.Add(titles, {.bold = true});
  out.Add("\n");
  for (const Operation operation : operations) {
    const OperationCell cell{InfoOf(operation), view.metrics[operation], totals[operation], SecondsOf(view)};
    out.Add(fmt::format("{:<{}}", cell.info.name, kNameWidth));
    for (const OperationColumn& column : kOperationColumns) {
      if (column.rank > last) continue;
      const bool failed = column.rank == kErrorsRank && cell.total.errors > 0;
      out.Add(fmt::format("{:>{}}", column.text(cell), column.width),
              failed ? Style{.colour = 1, .bold = true} : Style());
    }
    out.Add("\n");
  }
  return out;
}

std::string LogSending(const MetricsSnapshot& metrics) {
  const bool appends = metrics[Value::kWalAppends] != 0;
  const std::array<std::string_view, 2> ways = {"writes", "zone append"};
  const std::array<std::uint64_t, 2> times = {metrics[Value::kFrameWriteTime],
                                              metrics[Value::kFrameAppendTime]};
  const std::string out = fmt::format("by {}", ways[appends ? 1 : 0]);
  if (times[0] == 0 || times[1] == 0) return out;
  return out + fmt::format(": one takes {}, by {} {}", ShortDuration(times[appends ? 1 : 0]),
                           ways[appends ? 0 : 1], ShortDuration(times[appends ? 0 : 1]));
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
    const std::string_view name = NameOfCounter(info);
    const double rate = value / view.interval_seconds.value_or(1);
    std::string shown = info.unit == "bytes"    ? ShortBytes(rate)
                        : info.per_unit > 1     ? fmt::format("{:.3f}", rate)
                        : view.interval_seconds ? fmt::format("{:.1f}", rate)
                                                : fmt::to_string(view.metrics.values[i]);
    if (view.interval_seconds) shown += "/s";
    out += fmt::format("{:<29}{:>14}\n", name, shown);
  }
  return out + fmt::format("\nlog frames are sent {}\n", LogSending(view.metrics));
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

}  // namespace

std::string MountText(const MetricsSnapshot& metrics) {
  const std::uint64_t now = WallSeconds();
  const std::uint64_t mounted = std::min(now, metrics[Value::kMountTime]);
  return fmt::format("epoch {}, mounted {} ago, {} open", metrics[Value::kEpoch], Ago(now - mounted),
                     Counted(metrics[Value::kOpenFiles], "file"));
}

namespace {

std::string HeadLine(const std::string& name, const MetricsSnapshot& metrics) {
  return fmt::format("{}: {}\n\n", Printable(name), MountText(metrics));
}

// The counters that have counted since the mount, side by side.
std::string CounterColumns(const StatsView& view, const MetricsSnapshot& totals, int columns) {
  constexpr int kWidth = 36;  // "emulation_cpu_seconds     1023 KiB/s"
  constexpr std::string_view kGap = "   ";
  const int per_row = std::max(1, (columns + 3) / (kWidth + 3));
  std::string out;
  int in_row = 0;
  for (std::size_t i = 0; i < kValueCount; ++i) {
    const ValueInfo& info = Values()[i];
    if (!info.counter || totals.values[i] == 0) continue;
    const double rate = InUnit(info, view.metrics.values[i]) / SecondsOf(view);
    const std::string shown =
        info.unit == "bytes" ? ShortBytes(rate) : fmt::format("{:.{}f}", rate, info.per_unit > 1 ? 3 : 1);
    if (in_row > 0) out += in_row == per_row ? "\n" : kGap;
    in_row = in_row == per_row ? 1 : in_row + 1;
    out += fmt::format("{:<22}{:>14}", NameOfCounter(info), shown + "/s");
  }
  return in_row > 0 ? out + "\n" : out;
}

}  // namespace

StyledText StatsPage(const WatchedVolume& volume, int columns) {
  StyledText out;
  out.Add(Printable(volume.name), {.bold = true});
  out.Add("\n");
  out.Add(StateLines(volume, columns));
  if (!volume.reading || !volume.reading->up) return out;
  const MetricsSnapshot& totals = volume.reading->metrics;
  out.Add(Wrapped(fmt::format("{}; {}", MountText(totals), SpanOf(volume.stats)), columns) + "\n");
  std::vector<Operation> happened;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    if (totals.operations[i].count > 0) happened.push_back(static_cast<Operation>(i));
  }
  out.Add(OperationTable(volume.stats, totals, happened, columns));
  out.Add("\n" + CounterColumns(volume.stats, totals, columns));
  out.Add(Wrapped(fmt::format("log frames are sent {}", LogSending(totals)), columns));
  return out;
}

namespace {

// Reads the counters of one volume again and again. Looks for the program's shared memory when that is not known or gone.
class CounterSource {
 public:
  explicit CounterSource(DeviceUri uri) : uri_(std::move(uri)) {}

  VolumeReading Read() {
    VolumeReading reading{.device = uri_.kind + ":" + uri_.target};
    if (path_.empty() || !Take(ReadSharedMetrics(path_, true), reading)) {
      reading.trouble.reset();
      const Status found = Find();
      if (!found.ok()) reading.trouble = found.error();
      if (!path_.empty()) (void)Take(ReadSharedMetrics(path_, true), reading);
    }
    return reading;
  }

  // With kNotFound there is nobody who counts.
  static bool Take(const Result<MetricsSnapshot>& metrics, VolumeReading& reading) {
    if (!metrics && metrics.error().code() != Code::kNotFound) reading.trouble = metrics.error();
    if (!metrics) return false;
    reading.metrics = *metrics;
    reading.metrics_time = SteadyNow();
    reading.up = true;
    return true;
  }

 private:
  Status Find() {
    path_.clear();
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, OpenNamedDevice(uri_, OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const auto volume, Volume::Mount(std::move(named.device), named.mount_options));
    path_ = volume->shared_memory_path();
    return {};
  }

  const DeviceUri uri_;
  std::string path_;  // empty: not known
};

class StatsAction : public Action {
 public:
  explicit StatsAction(CLI::App& app) : device_(app), watch_(app) {
    AddJson(app, json_);
    app.add_option("--page", page_,
                   "Read this file of metrics: shared memory, also of a dead program, or a metrics_file")
        ->type_name("FILE");
  }

  Result<int> Run(Console& console) override {
    if (watch_.given() && !json_ && Screen::Available().ok()) return ShowOnScreen();
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
  Result<int> ShowOnScreen() const {
    VolumeSource source;
    if (page_.empty()) {
      ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, device_.Uri(OpenMode::kReadOnly));
      source.name = uri.kind + ":" + uri.target;
      source.read = [counters = std::make_shared<CounterSource>(uri)] { return counters->Read(); };
    } else {
      source.name = page_;
      source.read = [page = page_] {
        VolumeReading reading{.device = page};
        (void)CounterSource::Take(ReadSharedMetrics(page, false), reading);
        return reading;
      };
    }
    ZENFS_RETURN_IF_ERROR(WatchOnScreen({std::move(source)}, watch_.interval(),
                                        [](const auto& volumes, std::size_t, const Terminal& terminal, int) {
                                          return StatsPage(volumes.front(), terminal.columns);
                                        }));
    return 0;
  }

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
