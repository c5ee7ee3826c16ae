// Shows volumes on a full screen, again and again, until the user quits. Their programs and devices may come and go meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/console.h"
#include "cli/metrics_source.h"
#include "cli/styled_text.h"
#include "cli/volume_poll.h"

namespace zenfs {

struct WatchedVolume {
  std::string name;
  std::optional<VolumeReading> reading;  // the newest; nothing before the first
  StatsView stats;                       // if reading->up
  std::chrono::seconds silence{0};  // how long the device has not answered; 0 if that is no time to speak of
};

// What is wrong with a volume, or what it waits for, as lines of at most `columns`; empty if its counters are there. Pure.
[[nodiscard]] StyledText StateLines(const WatchedVolume& volume, int columns);

struct VolumeSource {
  std::string name;
  VolumePoll::Read read;  // called by a thread of its own
};

// The text to show for the volume with the number `shown`. `rows`: what the terminal has for it.
using VolumePage = std::function<StyledText(std::span<const WatchedVolume> volumes, std::size_t shown,
                                            const Terminal& terminal, int rows)>;

// Reads all volumes each `interval` and shows the page of one of them. Ends the process, with status 0, if the user quits while a
// device does not answer. Errors: those of Screen::Open and VolumePoll::Start, and a kInvalidArgument of a first reading.
[[nodiscard]] Status WatchOnScreen(const std::vector<VolumeSource>& sources,
                                   std::chrono::milliseconds interval, const VolumePage& page);

}  // namespace zenfs
