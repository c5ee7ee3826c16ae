#include <fmt/format.h>

#include "base/clock.h"
#include "base/counted.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/metrics_intervals.h"
#include "cli/metrics_source.h"
#include "cli/stats_table.h"
#include "cli/verbs.h"
#include "cli/watch.h"

namespace zenfs {
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
  Result<std::string> Interval() {
    ZENFS_ASSIGN_OR_RETURN(const MetricsSnapshot now, Read());
    const StatsView view = intervals_.Next(now);
    if (json_) return JsonText(StatsJson(view), -1) + "\n";
    return HeadLine(name_, now) + StatsTable(view);
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
