#include "cli/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/screen.h"
#include "cli/stats.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "cli/zone_drawing.h"
#include "discovery/contents.h"

namespace zenfs {
namespace {

constexpr Style kTitle{.bold = true};
constexpr Style kBad{.colour = 1, .bold = true};

// Shown always, so that a figure keeps its place.
constexpr Operation kMainOperations[] = {
    Operation::kWalWrite,   Operation::kWalSync,    Operation::kNonWalWrite, Operation::kNonWalSync,
    Operation::kRead,       Operation::kMetaSync,   Operation::kDeviceRead,  Operation::kZoneWrite,
    Operation::kZoneAppend, Operation::kDeviceFlush};
constexpr int kRowsForMain = 23;  // what they and everything else but the list of volumes take

bool IsMain(Operation operation) {
  return std::ranges::find(kMainOperations, operation) != std::end(kMainOperations);
}

// The main operations, and others that have happened if there is room for them; in the order of the table.
std::vector<Operation> OperationsFor(const MetricsSnapshot& totals, int rows) {
  int room = rows - kRowsForMain;
  std::vector<Operation> out;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (IsMain(operation)) {
      out.push_back(operation);
    } else if (totals[operation].count > 0 && room > 0) {
      out.push_back(operation);
      --room;
    }
  }
  return out;
}

std::string ShareText(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::uint64_t GaugeOf(const VolumeReading& reading, ZoneGauge gauge) {
  return reading.zones[static_cast<std::size_t>(gauge)];
}

// The groups of zones, side by side.
void AddZones(const VolumeReading& reading, const Terminal& terminal, StyledText& out) {
  constexpr int kCell = 39;
  constexpr int kGap = 2;
  const std::vector<ZoneGroup> groups = GroupZones(reading.zone_list, terminal);
  const auto count = static_cast<int>(groups.size());
  const int across = std::clamp((terminal.columns + kGap) / (kCell + kGap), 1, std::max(1, count));
  const int down = (count + across - 1) / across;
  for (int column = 0; column < across; ++column) {
    out.Add(fmt::format("{}  {:<12}{:>7}{:>9}{:>9}", column > 0 ? "  " : "", column == 0 ? "lifetime" : "",
                        "zones", "live", "dead"),
            kTitle);
  }
  out.Add("\n");
  for (int row = 0; row < down; ++row) {
    for (int i = row; i < count; i += down) {
      const ZoneGroup& group = groups[static_cast<std::size_t>(i)];
      if (i != row) out.Add("  ");
      out.Add(group.sign);
      out.Add(fmt::format(" {:<12}{:>7}{:>9}{:>9}", group.name, group.zones, ShortBytes(group.live),
                          ShortBytes(group.dead)));
    }
    out.Add("\n");
  }
}

// "6 of 14"; without a limit "6".
std::string OfLimit(std::uint64_t count, std::uint32_t limit) {
  return limit == 0 ? fmt::to_string(count) : fmt::format("{} of {}", count, limit);
}

// A line that begins with a name in bold; wrapped if need be.
void AddLine(std::string_view name, const std::string& text, int columns, StyledText& out) {
  constexpr std::size_t kNameWidth = 9;
  const std::string line = Wrapped(fmt::format("{:<{}}{}", name, kNameWidth, text), columns);
  const std::size_t cut = std::min(name.size(), line.find('\n'));
  out.Add(std::string_view(line).substr(0, cut), kTitle);
  out.Add(std::string_view(line).substr(cut));
}

void AddSpace(const VolumeReading& reading, int columns, StyledText& out) {
  const std::uint64_t total = GaugeOf(reading, ZoneGauge::kTotalSpace);
  const auto share = [&](ZoneGauge gauge) { return ShareText(GaugeOf(reading, gauge), total); };
  AddLine("space",
          fmt::format("{} used, {} reclaimable, {} free, {} reserved of {}", share(ZoneGauge::kUsedSpace),
                      share(ZoneGauge::kReclaimableSpace), share(ZoneGauge::kFreeSpace),
                      share(ZoneGauge::kReservedSpace), ShortBytes(total)),
          columns, out);
  if (const std::uint64_t lost = GaugeOf(reading, ZoneGauge::kLostSpace); lost > 0) {
    out.Add(fmt::format("         {} lost in zones that failed\n", ShortBytes(lost)), kBad);
  }
}

void AddDevice(const WatchedVolume& volume, int columns, StyledText& out) {
  const VolumeReading& reading = *volume.reading;
  std::string text =
      fmt::format("{} zones active, {} open; {} dead",
                  OfLimit(GaugeOf(reading, ZoneGauge::kActiveZones), reading.geometry.max_active),
                  OfLimit(GaugeOf(reading, ZoneGauge::kOpenZones), reading.geometry.max_open),
                  GaugeOf(reading, ZoneGauge::kResetableZones));
  if (reading.up) {
    text += fmt::format(
        "; {:.1f} resets/s",
        static_cast<double>(volume.stats.metrics[Operation::kZoneReset].count) / SecondsOf(volume.stats));
  }
  AddLine("device", text, columns, out);
}

// Bytes written to zones for each byte of a file.
std::string WriteAmplification(const MetricsSnapshot& metrics) {
  const auto bytes = [&](Operation operation) { return static_cast<double>(metrics[operation].bytes); };
  const double files = bytes(Operation::kWalWrite) + bytes(Operation::kNonWalWrite);
  if (files == 0) return "-";
  return fmt::format("{:.2f}", (bytes(Operation::kZoneWrite) + bytes(Operation::kZoneAppend)) / files);
}

void AddWork(const StatsView& stats, int columns, StyledText& out) {
  const MetricsSnapshot& metrics = stats.metrics;
  const auto rate = [&](Value value) { return static_cast<double>(metrics[value]) / SecondsOf(stats); };
  AddLine("reclaim",
          fmt::format("{}/s of files, {}/s of logs; write amplification {}",
                      ShortBytes(rate(Value::kReclaimedBytes)), ShortBytes(rate(Value::kCleanedBytes)),
                      WriteAmplification(metrics)),
          columns, out);
  std::string logs = fmt::format("{}/s {}", ShortBytes(rate(Value::kWalBytes)), LogSending(metrics));
  if (metrics[Value::kWalReserveWaits] > 0) {
    logs += fmt::format("; {:.1f} waits/s for a zone", rate(Value::kWalReserveWaits));
  }
  AddLine("logs", logs, columns, out);
}

// The end of `name` that has at most `width` bytes: the beginning of a path says less.
std::string End(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t begin = name.size() - (width - std::min<std::size_t>(width, 2));
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xc0) == 0x80) ++begin;
  return ".." + name.substr(begin);
}

// Its name, and its label if there is room.
void AddTitle(const WatchedVolume& volume, const std::string& number, int columns, StyledText& out) {
  const auto width = static_cast<std::size_t>(std::max(columns, 20));
  std::string title = number + End(Printable(volume.name), width - number.size());
  if (volume.reading && !volume.reading->label.empty()) {
    const std::string label = fmt::format(" \"{}\"", Printable(volume.reading->label));
    if (title.size() + label.size() <= width) title += label;
  }
  out.Add(title, kTitle);
  out.Add("\n");
}

void AddVolumes(std::span<const WatchedVolume> volumes, std::size_t shown, int columns, StyledText& out) {
  constexpr int kFigures = 44;
  const auto width = static_cast<std::size_t>(std::max(10, columns - kFigures));
  out.Add(fmt::format("{:<{}}{:>11}{:>11}{:>9}{:>9}", fmt::format("  {} volumes", volumes.size()), width + 2,
                      "written/s", "read/s", "sync p99", "used"),
          kTitle);
  out.Add("\n");
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const WatchedVolume& volume = volumes[i];
    std::string written = "-";
    std::string read = "-";
    std::string sync = "-";
    std::string used = "-";
    if (volume.reading && volume.reading->up) {
      const MetricsSnapshot& metrics = volume.stats.metrics;
      const auto rate = [&](std::uint64_t bytes) {
        return ShortBytes(static_cast<double>(bytes) / SecondsOf(volume.stats));
      };
      written = rate(metrics[Operation::kWalWrite].bytes + metrics[Operation::kNonWalWrite].bytes);
      read = rate(metrics[Operation::kRead].bytes);
      const LatencyHistogram& syncs = metrics[Operation::kWalSync].latency;
      if (syncs.count > 0) sync = ShortDuration(syncs.Quantile(0.99));
    }
    if (volume.reading && volume.reading->readable) {
      used = ShareText(GaugeOf(*volume.reading, ZoneGauge::kUsedSpace),
                       GaugeOf(*volume.reading, ZoneGauge::kTotalSpace));
    }
    const bool bad = volume.silence.count() > 0 || (volume.reading && volume.reading->trouble);
    out.Add(fmt::format("{} {:<{}}{:>11}{:>11}{:>9}{:>9}\n", i == shown ? ">" : " ",
                        End(Printable(volume.name), width), width, written, read, sync, used),
            bad ? kBad : Style());
  }
}

}  // namespace

StyledText TopPage(std::span<const WatchedVolume> volumes, std::size_t shown, const Terminal& terminal,
                   int rows) {
  const int columns = terminal.columns;
  const WatchedVolume& volume = volumes[shown];
  StyledText out;
  AddTitle(volume, volumes.size() > 1 ? fmt::format("{} of {}: ", shown + 1, volumes.size()) : "", columns,
           out);
  out.Add(StateLines(volume, columns));
  if (volume.reading && volume.reading->up) {
    const MetricsSnapshot& totals = volume.reading->metrics;
    out.Add(Wrapped(fmt::format("{}; {}", MountText(totals), SpanOf(volume.stats)), columns));
    const int others = volumes.size() > 1 ? static_cast<int>(volumes.size()) + 1 : 0;
    out.Add(OperationTable(volume.stats, totals, OperationsFor(totals, rows - others), columns));
  }
  if (volume.reading && volume.reading->readable) {
    AddZones(*volume.reading, terminal, out);
    AddSpace(*volume.reading, columns, out);
    AddDevice(volume, columns, out);
  }
  if (volume.reading && volume.reading->up) AddWork(volume.stats, columns, out);
  if (volumes.size() > 1) AddVolumes(volumes, shown, columns, out);
  return out;
}

namespace {

class TopAction : public Action {
 public:
  explicit TopAction(CLI::App& app) : device_(app, DeviceOption::kMany) {
    app.add_option_function<std::string>(
           "--interval", [this](const std::string& text) { interval_ = ParseInterval("--interval", text); },
           "How often everything is read")
        ->type_name("SECONDS")
        ->default_str("2");
  }

  Result<int> Run(Console&) override {
    const Status available = Screen::Available();
    if (!available.ok()) {
      return Fail(available.error().Advise(
          "use 'zenfs stats --watch', with --json for programs, or 'zenfs exporter'"));
    }
    ZENFS_ASSIGN_OR_RETURN(const std::vector<DeviceUri> uris, Uris());
    std::vector<VolumeSource> sources;
    for (const DeviceUri& uri : uris) {
      sources.push_back(
          {uri.kind + ":" + uri.target, [uri] { return ReadVolume(uri, {.zone_list = true}); }});
    }
    ZENFS_RETURN_IF_ERROR(WatchOnScreen(sources, interval_, TopPage));
    return 0;
  }

 private:
  // If none is named: the devices of this host that have a file system now.
  Result<std::vector<DeviceUri>> Uris() const {
    if (device_.has_device()) return device_.Uris(OpenMode::kReadOnly);
    std::vector<DeviceUri> uris;
    for (const KnownDevice& known : FindDevices(SearchPlaces::OfThisProcess()).devices) {
      if (Probe(known).kind == Contents::Kind::kZenfs) uris.push_back(known.uri);
    }
    if (uris.empty()) return device_.Uris(OpenMode::kReadOnly);  // the default, or how to name one
    return uris;
  }

  DeviceOption device_;
  std::chrono::milliseconds interval_ = kDefaultInterval;
};

}  // namespace

std::unique_ptr<Action> MakeTop(CLI::App& app) { return MakeAction<TopAction>(app); }

}  // namespace zenfs
