#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/output_file.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/metrics_source.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "cli/volume_watch.h"
#include "cli/watch.h"
#include "cli/zone_drawing.h"

namespace zenfs {
namespace {

void PrintJson(std::span<const ZoneStatus> zones, Console& console) {
  JsonStream out(console);
  out.OpenArray("zones");
  for (const ZoneStatus& zone : zones) {
    out.Element({{"zone", zone.id.value},
                 {"phase", PhaseName(zone.phase)},
                 {"lifetime", LifetimeName(zone.lifetime)},
                 {"capacity", zone.capacity},
                 {"written", zone.written},
                 {"live", zone.live}});
  }
  out.Close();
  out.End();
}

void DrawSvg(const Volume& volume, const SvgSink& write) {
  const SpaceReport space = volume.Space();
  const VolumeInfo& info = volume.info();
  const std::string& label = info.superblock.label;
  DrawZonesAsSvg(
      volume.Zones(),
      fmt::format("{}{}", Printable(info.device_name), label.empty() ? "" : " · " + Printable(label)),
      fmt::format("{} · {} used · {} reclaimable · {} free · {} in all",
                  Counted(info.geometry.zone_count, "zone"), ShortBytes(space.used()),
                  ShortBytes(space.reclaimable()), ShortBytes(space.free), ShortBytes(space.total)),
      write);
}

Status WriteSvg(const std::string& path, const Volume& volume) {
  constexpr mode_t kMode = 0666;  // as the umask allows it
  ZENFS_ASSIGN_OR_RETURN(NewOutput file, NewOutput::Begin(path, NewOutput::Place::kReplace, kMode));
  ZENFS_RETURN_IF_ERROR(file.KeepModeAndOwner());
  constexpr std::size_t kHeldBytes = 64 << 10;
  Status written;
  std::string held;
  DrawSvg(volume, [&](std::string_view part) {
    held += part;
    if (held.size() < kHeldBytes) return;
    if (written.ok()) written = file.Append(AsBytes(held));
    held.clear();
  });
  ZENFS_RETURN_IF_ERROR(std::move(written));
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(held)));
  return file.Publish();
}

// Nothing before the second of two looks.
std::string ReclaimRate(const StatsView& view) {
  if (!view.interval_seconds) return "";
  const auto rate = [&](std::uint64_t count) { return static_cast<double>(count) / *view.interval_seconds; };
  return fmt::format("reclaim moves {}/s of files and {}/s of logs; {:.1f} zones/s are reset",
                     ShortBytes(rate(view.metrics[Value::kReclaimedBytes])),
                     ShortBytes(rate(view.metrics[Value::kCleanedBytes])),
                     rate(view.metrics[Operation::kZoneReset].count));
}

StyledText ScreenPage(std::span<const WatchedVolume> volumes, std::size_t shown, const Terminal& terminal,
                      int rows) {
  constexpr int kOtherRows = 9;  // name, state, rates, legend
  const WatchedVolume& volume = volumes[shown];
  StyledText out;
  out.Add(Printable(volume.name), {.bold = true});
  out.Add("\n");
  out.Add(StateLines(volume, terminal.columns));
  if (!volume.reading || !volume.reading->readable) return out;
  out.Add(DrawZones(volume.reading->zone_list, terminal,
                    static_cast<std::size_t>(std::max(1, rows - kOtherRows))));
  if (volume.reading->up) out.Add(Wrapped(ReclaimRate(volume.stats), terminal.columns));
  return out;
}

class ZonesAction : public Action {
 public:
  explicit ZonesAction(CLI::App& app) : device_(app), watch_(app) {
    AddJson(app, json_);
    app.add_option("--svg", svg_, "Write an SVG image to this file; - is standard output")->type_name("FILE");
  }

  Result<int> Run(Console& console) override {
    if (json_ + watch_.given() + !svg_.empty() > 1) {
      return Fail(Code::kInvalidArgument, "--json, --svg and --watch exclude one another; give one of them");
    }
    if (watch_.given() && Screen::Available().ok()) return ShowOnScreen();
    if (watch_.given()) {
      return Fail(watch_.Run(console, "\n", [&] { return Picture(console.terminal()); }).error());
    }
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.Mount(OpenMode::kReadOnly, console));
    if (svg_ == "-") {
      DrawSvg(*volume, [&console](std::string_view part) { console.Print(part); });
    } else if (!svg_.empty()) {
      const Status written = WriteSvg(svg_, *volume);
      if (!written.ok()) return Fail(written.error().With("--svg"));
    } else if (json_) {
      PrintJson(volume->Zones(), console);
    } else {
      console.Print(DrawZones(volume->Zones(), console.terminal()));
    }
    return 0;
  }

 private:
  Result<StyledText> Picture(const Terminal& terminal) {
    // Without notices: a line for each picture would push it off the screen.
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const auto volume, Volume::Mount(std::move(named.device), named.mount_options));
    StyledText picture = DrawZones(volume->Zones(), terminal);
    // What the program that has the volume mounted for writing moves meanwhile; nothing if there is none.
    const Result<std::string> path = SharedMemoryOf(*volume);
    if (!path) return picture;
    const Result<MetricsSnapshot> now = ReadSharedMetrics(*path, true);
    if (!now) return picture;
    const std::string rate = ReclaimRate(intervals_.Next(*now));
    if (!rate.empty()) picture.Add(rate + "\n");
    return picture;
  }

  Result<int> ShowOnScreen() const {
    ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, device_.Uri(OpenMode::kReadOnly));
    const VolumeSource source{uri.kind + ":" + uri.target,
                              [uri] { return ReadVolume(uri, {.zone_list = true}); }};
    ZENFS_RETURN_IF_ERROR(WatchOnScreen({source}, watch_.interval(), ScreenPage));
    return 0;
  }

  DeviceOption device_;
  WatchOption watch_;
  MetricsIntervals intervals_;
  bool json_ = false;
  std::string svg_;
};

}  // namespace

std::unique_ptr<Action> MakeZones(CLI::App& app) { return MakeAction<ZonesAction>(app); }

}  // namespace zenfs
