#include "cli/volume_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/counted.h"
#include "base/printable.h"
#include "cli/screen.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kAnswerPoll{
    20};  // how often a reading under way is asked whether it is done
constexpr std::chrono::seconds kSilenceMin{3};

// A volume, and the thread that reads it.
class Watch {
 public:
  static Result<std::unique_ptr<Watch>> Start(const VolumeSource& source) {
    std::unique_ptr<Watch> watch(new Watch());
    watch->volume_.name = source.name;
    ZENFS_ASSIGN_OR_RETURN(watch->poll_, VolumePoll::Start(source.name, source.read));
    return watch;
  }

  void Ask() {
    if (reading_ != 0) return;
    asked_ = SteadyNow();
    reading_ = poll_->Begin();
  }

  // True if the volume has changed, by an answer or by another second without one.
  [[nodiscard]] bool Look() {
    if (reading_ == 0) return false;
    if (!poll_->busy()) {
      Take(poll_->End(std::exchange(reading_, 0), Deadline::Never()));
      return true;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(SteadyNow() - asked_);
    if (waited < kSilenceMin || waited == volume_.silence) return false;
    volume_.silence = waited;
    return true;
  }

  bool waits() const { return reading_ != 0; }
  // The error of the first reading, if it is one of the user's that no time changes.
  const std::optional<Error>& refusal() const { return refusal_; }
  const WatchedVolume& volume() const { return volume_; }

 private:
  Watch() = default;

  void Take(VolumeReading reading) {
    if (!volume_.reading && reading.trouble && reading.trouble->code() == Code::kInvalidArgument) {
      refusal_ = reading.trouble;
    }
    if (reading.up) volume_.stats = intervals_.Next(reading.metrics, reading.metrics_time);
    volume_.reading = std::move(reading);
    volume_.silence = {};
  }

  WatchedVolume volume_;
  std::optional<Error> refusal_;
  MetricsIntervals intervals_;
  std::unique_ptr<VolumePoll> poll_;
  std::uint64_t reading_ = 0;  // the number of the reading under way; 0: none
  SteadyTime asked_;
};

class Watches {
 public:
  static Result<Watches> Start(const std::vector<VolumeSource>& sources) {
    Watches watches;
    for (const VolumeSource& source : sources) {
      ZENFS_ASSIGN_OR_RETURN(watches.all_.emplace_back(), Watch::Start(source));
    }
    return watches;
  }

  void Ask() {
    for (const auto& watch : all_) watch->Ask();
  }
  bool Look() {
    bool changed = false;
    for (const auto& watch : all_) changed |= watch->Look();
    return changed;
  }
  [[nodiscard]] Status Refusal() const {
    for (const auto& watch : all_) {
      if (watch->refusal()) return Fail(*watch->refusal());
    }
    return {};
  }
  bool wait() const {
    return std::ranges::any_of(all_, [](const auto& watch) { return watch->waits(); });
  }
  std::vector<WatchedVolume> Volumes() const {
    std::vector<WatchedVolume> volumes;
    for (const auto& watch : all_) volumes.push_back(watch->volume());
    return volumes;
  }

 private:
  std::vector<std::unique_ptr<Watch>> all_;
};

// Returns when the user quits. Errors: those of Watches::Refusal.
Status ShowUntilQuit(Screen& screen, Watches& watches, std::chrono::milliseconds interval,
                     const VolumePage& page) {
  std::vector<WatchedVolume> volumes = watches.Volumes();
  std::size_t shown = 0;
  bool paused = false;
  bool stale = true;  // the screen does not show what is known
  SteadyTime next = SteadyNow();
  for (;;) {
    if (!paused && SteadyNow() >= next) {
      watches.Ask();
      next = std::max(next + interval, SteadyNow());
    }
    if (watches.Look()) {
      ZENFS_RETURN_IF_ERROR(watches.Refusal());
      volumes = watches.Volumes();
      stale = true;
    }
    if (stale) {
      const std::string keys = fmt::format("p {}{}", paused ? "go on (PAUSED)" : "pause",
                                           volumes.size() > 1 ? "  Tab next volume" : "");
      screen.Show(page(volumes, shown, screen.terminal(), screen.rows()), keys);
      stale = false;
    }
    const SteadyTime until = paused ? SteadyTime::max() : next;
    const Screen::Event event =
        screen.Wait(watches.wait() ? std::min(until, SteadyNow() + kAnswerPoll) : until);
    stale = event != Screen::Event::kTime;
    switch (event) {
      case Screen::Event::kTime:
      case Screen::Event::kResize: break;
      case Screen::Event::kNext: shown = (shown + 1) % volumes.size(); break;
      case Screen::Event::kPrevious: shown = (shown + volumes.size() - 1) % volumes.size(); break;
      case Screen::Event::kPause:
        paused = !paused;
        next = SteadyNow();
        break;
      case Screen::Event::kQuit: return {};
    }
  }
}

}  // namespace

StyledText StateLines(const WatchedVolume& volume, int columns) {
  StyledText out;
  const auto add = [&](const std::string& text, Style style) { out.Add(Wrapped(text, columns), style); };
  constexpr Style kBad{.colour = 1, .bold = true};
  if (volume.silence.count() > 0) {
    add(fmt::format("the device has not answered for {} s", volume.silence.count()), kBad);
  }
  if (!volume.reading) {
    if (volume.silence.count() == 0) add("reading the volume", {});
  } else if (volume.reading->trouble) {
    add(fmt::format("{}; waiting for a change", Printable(volume.reading->trouble->ToString())), kBad);
  } else if (!volume.reading->up) {
    add("no program on this host has it mounted for writing; waiting for one", {.bold = true});
  }
  return out;
}

Status WatchOnScreen(const std::vector<VolumeSource>& sources, std::chrono::milliseconds interval,
                     const VolumePage& page) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<Screen> screen, Screen::Open());
  ZENFS_ASSIGN_OR_RETURN(Watches watches, Watches::Start(sources));
  const Status shown = ShowUntilQuit(*screen, watches, interval, page);
  screen.reset();
  ZENFS_RETURN_IF_ERROR(shown);
  // A reading can't be interrupted, and this process changes nothing that it would have to leave in order.
  if (watches.wait()) ::_exit(0);
  return {};
}

}  // namespace zenfs
