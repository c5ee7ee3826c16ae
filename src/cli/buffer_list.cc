#include "cli/buffer_list.h"

#include <fmt/format.h>

#include <array>

#include "base/short_bytes.h"
#include "cli/table.h"
#include "discovery/volume_device.h"

namespace zenfs {
namespace {

constexpr std::array<TextColumn, 8> kBufferColumns = {{{"path"},
                                                       {"device"},
                                                       {"file system"},
                                                       {"process", true},
                                                       {"state"},
                                                       {"age", true},
                                                       {"size", true},
                                                       {"not on device", true}}};

std::string Age(std::uint64_t seconds) {
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 60 * kMinute;
  constexpr std::uint64_t kDay = 24 * kHour;
  if (seconds < kMinute) return fmt::format("{} s", seconds);
  if (seconds < kHour) return fmt::format("{} min", seconds / kMinute);
  return seconds < kDay ? fmt::format("{} h", seconds / kHour) : fmt::format("{} d", seconds / kDay);
}

std::uint64_t AgeOf(const SharedBuffers& found, std::uint64_t now) {
  return now > found.created_seconds ? now - found.created_seconds : 0;
}

std::string Lost(const ListedBuffers& listed) {
  if (!listed.lost) return "-";
  const bool at_most = *listed.lost != 0 && listed.standing != Standing::kNeeded;
  return (at_most ? "<= " : "") + ShortBytes(*listed.lost);
}

std::vector<std::string> RowOf(const ListedBuffers& listed, std::uint64_t now) {
  const SharedBuffers& found = listed.found;
  const std::string device = !listed.device.empty() ? listed.device : found.finished ? found.identity : "-";
  return {Printable(found.path),
          Printable(device),
          found.finished ? found.volume.ToString() : "-",
          found.finished ? fmt::to_string(found.process) : "-",
          std::string(StandingName(listed.standing)),
          found.finished ? Age(AgeOf(found, now)) : "-",
          ShortBytes(found.size),
          Lost(listed)};
}

}  // namespace

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kInUse: return "in use";
    case Standing::kNeeded: return "needed";
    case Standing::kSpent: return "spent";
    case Standing::kLeftOver: return "left over";
    case Standing::kNoDevice: return "no device";
    case Standing::kUnclear: return "unclear";
  }
  return "";
}

PresentDevices::PresentDevices(const KnownDevices& known) {
  for (const KnownDevice& one : known.devices) {
    if (!one.used_by.empty()) continue;
    DeviceOptions none;
    auto device = OpenVolumeDevice(one.uri, OpenMode::kReadOnly, &none);
    if (device) {
      auto needed = std::make_unique<NeededBuffers>(**device);
      devices_.push_back({.name = one.Name(), .device = *std::move(device), .needed = std::move(needed)});
    } else {
      not_read_.push_back(device.error().With(one.Name()));
    }
  }
}

ListedBuffers PresentDevices::Judge(SharedBuffers found) {
  ListedBuffers listed{.found = std::move(found), .device = {}, .lost = {}, .why = {}};
  if (listed.found.problem) {
    AskAboutDamaged(listed);
  } else if (!listed.found.finished && !listed.found.in_use) {
    listed.standing = Standing::kLeftOver;
    listed.lost = 0;
  } else {
    AskItsDevice(listed);
  }
  if (!listed.found.in_use) return listed;
  listed.standing = Standing::kInUse;
  if (!listed.found.problem) listed.lost = listed.found.held_bytes;
  return listed;
}

// The damaged header does not name the owner, but each device knows the name of its own file.
void PresentDevices::AskAboutDamaged(ListedBuffers& listed) {
  listed.standing = Standing::kUnclear;
  listed.why = listed.found.problem;
  for (const Present& present : devices_) {
    const auto needed = present.needed->BytesOf(listed.found);
    if (!needed || !*needed) continue;
    listed.standing = Standing::kNeeded;
    listed.device = present.name;
  }
}

void PresentDevices::AskItsDevice(ListedBuffers& listed) {
  const SharedBuffers& found = listed.found;
  listed.standing = found.held_bytes == 0 ? Standing::kLeftOver : Standing::kNoDevice;
  listed.lost = found.held_bytes;
  for (const Present& present : devices_) {
    if (found.identity.empty() || present.device->identity() != found.identity) continue;
    listed.device = present.name;
    if (found.in_use) return;
    const auto needed = present.needed->BytesOf(found);
    if (!needed) {
      listed.standing = Standing::kUnclear;
      listed.why = needed.error();
      return;
    }
    listed.lost = needed->value_or(0);
    listed.standing = !*needed            ? Standing::kLeftOver
                      : *listed.lost == 0 ? Standing::kSpent
                                          : Standing::kNeeded;
    return;
  }
}

std::string BufferTable(const std::vector<ListedBuffers>& list, std::uint64_t now, int columns) {
  if (list.empty()) return "No append buffers are in shared memory.\n";
  std::vector<std::vector<std::string>> rows;
  std::string notes;
  std::uint64_t left_over = 0;
  for (const ListedBuffers& listed : list) {
    rows.push_back(RowOf(listed, now));
    const std::string path = Printable(listed.found.path);
    if (listed.standing == Standing::kLeftOver) left_over += listed.found.size;
    if (listed.why) notes += fmt::format("{}\n", Printable(listed.why->ToString()));
    if (listed.standing == Standing::kNeeded) {
      notes +=
          fmt::format("{}: the next read-write mount of {} on this host brings these bytes to the device\n",
                      path, Printable(listed.device));
    }
    if (listed.standing == Standing::kNoDevice) {
      notes += fmt::format(
          "{}: its device was not found or could not be read: name it (--emu, or a list of devices); "
          "if "
          "it is gone for good: zenfs buffers --remove {}\n",
          path, path);
    }
  }
  std::string out = TextTable(kBufferColumns, rows, columns) + notes;
  if (left_over != 0) {
    out += fmt::format("Next: zenfs buffers --remove frees {} that nothing needs\n", ShortBytes(left_over));
  }
  return out;
}

Json BufferJson(const ListedBuffers& listed, std::uint64_t now) {
  const SharedBuffers& found = listed.found;
  const auto if_finished = [&](const auto& value) { return found.finished ? Json(value) : Json(nullptr); };
  return {{"path", found.path},
          {"state", StandingName(listed.standing)},
          {"device", listed.device.empty() ? Json(nullptr) : Json(listed.device)},
          {"identity", if_finished(found.identity)},
          {"uuid", if_finished(found.volume.ToString())},
          {"epoch", if_finished(found.epoch)},
          {"process", if_finished(found.process)},
          {"alive", found.in_use},
          {"user", found.user},
          {"created", if_finished(found.created_seconds)},
          {"age_seconds", if_finished(AgeOf(found, now))},
          {"size", found.size},
          {"held_bytes", if_finished(found.held_bytes)},
          {"bytes_not_on_device", listed.lost ? Json(*listed.lost) : Json(nullptr)},
          {"why", listed.why ? Json(listed.why->ToString()) : Json(nullptr)}};
}

}  // namespace zenfs
