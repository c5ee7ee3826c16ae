#include "cli/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "backends/host/block_facts.h"
#include "backends/host/io_scheduler.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/number.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

using Kind = Contents::Kind;

constexpr std::array<TextColumn, 13> kColumns = {{{"device"},
                                                  {"kind"},
                                                  {"model"},
                                                  {"size", true},
                                                  {"zones", true},
                                                  {"zone size", true},
                                                  {"capacity", true},
                                                  {"open", true},
                                                  {"active", true},
                                                  {"scheduler"},
                                                  {"cache"},
                                                  {"access"},
                                                  {"holds"}}};
using Cells = std::vector<std::string>;

std::string_view KindName(const KnownDevice& known) {
  if (known.uri.kind == "dev") return "block";
  return known.uri.kind == "emu" ? "emulated" : "zonefs";
}

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kZenfs: return "zenfs";
    case Kind::kLogs: return "zenfs logs";
    case Kind::kZonefs: return "zonefs";
    case Kind::kUsed: return "used";
    case Kind::kNothing: return "nothing";
    case Kind::kOther: return "other";
    case Kind::kNoDevice: return "no device";
    case Kind::kUnreadable: return "unreadable";
  }
  return "";
}

bool DeniedToRead(const Contents& contents) {
  return contents.why && contents.why->code() == Code::kPermission;
}

std::string ContentsText(const SeenDevice& device) {
  const Contents& contents = device.look.contents;
  switch (contents.kind) {
    case Kind::kZenfs:
      return fmt::format("{}ZenFS {}{}", contents.is_older ? "older " : "", contents.uuid.ToString(),
                         contents.label.empty() ? "" : fmt::format(" ({})", Printable(contents.label)));
    case Kind::kLogs: return fmt::format("logs of ZenFS {}", contents.uuid.ToString());
    case Kind::kZonefs: return "zonefs, not mounted";
    case Kind::kUsed: return Printable(device.known.used_by);
    case Kind::kNothing: return "empty";
    case Kind::kOther: return "other data";
    case Kind::kNoDevice: return "not usable";
    case Kind::kUnreadable: return DeniedToRead(contents) ? "no permission" : "not readable";
  }
  return "";
}

std::string Holds(const SeenDevice& device) {
  const std::string& user = device.look.in_use_by;
  return ContentsText(device) + (user.empty() ? "" : ", in use by " + Printable(user));
}

// As far as known: from the device itself, or for a disk from sysfs only. A zonefs has other zones
// than the disk below it.
Geometry GeometryOf(const SeenDevice& device) {
  if (device.look.geometry) return *device.look.geometry;
  if (!device.known.block || device.known.uri.kind != "dev") return {.zone_count = 0};
  const BlockFacts& facts = *device.known.block;
  return {.block_size = facts.write_granularity,
          .zone_size = facts.zone_size,
          .zone_count = facts.zone_count,
          .max_open = facts.max_open,
          .max_active = facts.max_active,
          .volatile_cache = facts.volatile_cache};
}

std::string Access(const DeviceLook& look) {
  if (!look.readable) return "none";
  return look.writable ? "read, write" : "read";
}

Cells CellsOf(const SeenDevice& device) {
  const auto& [known, look] = device;
  const Geometry geometry = GeometryOf(device);
  const bool known_shape = geometry.zone_count > 0;
  const auto limit = [&](std::uint32_t zones) {
    return !known_shape ? "-" : zones == 0 ? "none" : fmt::to_string(zones);
  };
  return {Printable(known.uri.target),
          std::string(KindName(known)),
          known.block && !known.block->hardware.empty() ? Printable(known.block->hardware) : "-",
          known_shape ? ShortBytes(geometry.size_bytes()) : "-",
          known_shape ? fmt::to_string(geometry.zone_count) : "-",
          known_shape ? FormatSize(geometry.zone_size) : "-",
          look.zone_capacity > 0 ? FormatSize(look.zone_capacity) : "-",
          limit(geometry.max_open),
          limit(geometry.max_active),
          known.block ? known.block->scheduler.value_or("-") : "-",
          !known_shape                ? "-"
          : geometry.LosesUnflushed() ? "volatile"
                                      : "write-through",
          Access(look),
          Holds(device)};
}

bool NeedsScheduler(const KnownDevice& known, const std::string& release) {
  return known.block && known.block->model == ZonedModel::kHostManaged &&
         !KeepsWritesInOrder(*known.block, release);
}

std::string NotesOf(const SeenDevice& device, const std::string& release) {
  std::string notes;
  const auto note = [&](const std::string& text) {
    notes += fmt::format("{}: {}\n", Printable(device.known.uri.target), Printable(text));
  };
  if (device.look.contents.why && !DeniedToRead(device.look.contents))
    note(device.look.contents.why->ToString());
  if (NeedsScheduler(device.known, release)) {
    note(
        fmt::format("its scheduler may reorder the writes of a zone on Linux {}; as root: {} (or: zenfs mkfs "
                    "--set-scheduler)",
                    release, SchedulerFix(device.known.block->name)));
  }
  for (const std::string& notice : device.look.notices) note(notice);
  return notes;
}

// One line for the disks and files that may not be read, and one for the zonefs.
std::string Denied(const std::vector<SeenDevice>& devices) {
  std::string nodes;
  std::string mounts;
  for (const SeenDevice& device : devices) {
    if (!DeniedToRead(device.look.contents)) continue;
    std::string& list = device.known.uri.kind == "zonefs" ? mounts : nodes;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Printable(device.known.uri.target));
  }
  if (!nodes.empty()) {
    nodes += ": no permission; join the group of the device node, or have it changed (docs/use/devices.md)\n";
  }
  if (!mounts.empty()) {
    mounts +=
        ": no permission; the owner of its zones is set by mkzonefs -o uid=UID,gid=GID,perm=660 "
        "(docs/use/devices.md)\n";
  }
  return nodes + mounts;
}

// By its UUID, which stays when the kernel numbers the devices anew; but only the devices of the kernel and of the list are
// searched for a UUID.
std::string UriOf(const SeenDevice& device) {
  if (device.known.origin == KnownDevice::Origin::kAsked) return "zenfs://" + Canonical(device.known.uri);
  return "zenfs://uuid:" + device.look.contents.uuid.ToString();
}

}  // namespace

std::string DeviceTable(const std::vector<SeenDevice>& devices, const std::string& release, int columns) {
  if (devices.empty()) return "";
  std::vector<Cells> rows;
  std::string notes;
  for (const SeenDevice& device : devices) {
    rows.push_back(CellsOf(device));
    notes += NotesOf(device, release);
  }
  notes += Denied(devices);
  return TextTable(kColumns, rows, columns) + (notes.empty() ? "" : notes + "\n");
}

std::string NextStep(const std::vector<SeenDevice>& devices) {
  const auto first = [&](auto&& fits) {
    const auto found = std::find_if(devices.begin(), devices.end(), fits);
    return found == devices.end() ? nullptr : &*found;
  };
  const auto of_kind = [](Kind kind) {
    return [kind](const SeenDevice& d) { return d.look.contents.kind == kind; };
  };
  if (const auto* empty = first(
          [](const SeenDevice& d) { return d.look.contents.kind == Kind::kNothing && d.look.writable; })) {
    return fmt::format("Next: zenfs mkfs {}\n", ShellWord(empty->known.Flag()));
  }
  if (const auto* ours = first(of_kind(Kind::kZenfs))) {
    return fmt::format("Next: zenfs df {}, or a RocksDB program with {}\n", ShellWord(ours->known.Flag()),
                       ShellWord(UriOf(*ours) + (ours->look.contents.is_older ? "?ro" : "")));
  }
  if (const auto* denied = first([](const SeenDevice& d) {
        return DeniedToRead(d.look.contents) || (d.look.contents.kind == Kind::kNothing && !d.look.writable);
      })) {
    return fmt::format("Next: get permission for {}, as root or by a udev rule (docs/use/devices.md)\n",
                       Printable(denied->known.uri.target));
  }
  if (const auto* damaged = first(of_kind(Kind::kUnreadable))) {
    return fmt::format("Next: zenfs check {}, which says what is damaged\n",
                       ShellWord(damaged->known.Flag()));
  }
  if (const auto* other = first(of_kind(Kind::kOther))) {
    return fmt::format("Next: zenfs mkfs --force {}, if its contents may be lost\n",
                       ShellWord(other->known.Flag()));
  }
  return "No zoned device found that ZenFS can use. Start with an emulated one: zenfs emu create device.img; "
         "or use real zones in a virtual machine: docs/testing/lab.md\n";
}

Json DeviceJson(const SeenDevice& device, const std::string& release) {
  const auto& [known, look] = device;
  const Geometry geometry = GeometryOf(device);
  const auto or_null = [](bool there, const auto& value) { return there ? Json(value) : Json(nullptr); };
  const bool shape = geometry.zone_count > 0;
  Json holds{{"kind", KindName(look.contents.kind)}};
  if (look.contents.kind == Kind::kZenfs || look.contents.kind == Kind::kLogs) {
    holds["uuid"] = look.contents.uuid.ToString();
    holds["label"] = look.contents.label;
  }
  if (!known.used_by.empty()) holds["used_by"] = known.used_by;
  if (look.contents.why) holds["why"] = look.contents.why->ToString();
  const bool wrong = NeedsScheduler(known, release);
  return {{"device", known.Name()},
          {"kind", KindName(known)},
          {"flag", known.Flag()},
          {"model", or_null(known.block.has_value(), known.block ? known.block->hardware : "")},
          {"zoned", or_null(known.block.has_value(), known.block ? ZonedModelName(known.block->model) : "")},
          {"size", or_null(shape, geometry.size_bytes())},
          {"block_size", or_null(shape, geometry.block_size)},
          {"zones", or_null(shape, geometry.zone_count)},
          {"conventional", or_null(look.geometry.has_value(), look.conventional)},
          {"zone_size", or_null(shape, geometry.zone_size)},
          {"zone_capacity", or_null(look.zone_capacity > 0, look.zone_capacity)},
          {"max_open", or_null(shape, geometry.max_open)},
          {"max_active", or_null(shape, geometry.max_active)},
          {"max_append_bytes", or_null(look.geometry.has_value(), geometry.max_append_bytes)},
          {"max_copy_bytes", or_null(look.geometry.has_value(), geometry.max_copy_bytes)},
          {"random_area",
           RandomAreaJson(geometry.random_area_bytes, geometry.random_area_unit, geometry.random_area_zones)},
          {"volatile_cache", or_null(shape, geometry.LosesUnflushed())},
          {"scheduler", or_null(known.block && known.block->scheduler,
                                known.block ? known.block->scheduler.value_or("") : "")},
          {"writes_in_order", !wrong},
          {"scheduler_fix", or_null(wrong, wrong ? SchedulerFix(known.block->name) : "")},
          {"readable", look.readable},
          {"writable", look.writable},
          {"holds", std::move(holds)},
          {"in_use_by", or_null(!look.in_use_by.empty(), look.in_use_by)},
          {"notices", look.notices}};
}

namespace {

class DevicesAction : public Action {
 public:
  explicit DevicesAction(CLI::App& app) : asked_(app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    const KnownDevices known = asked_.Find();
    const std::string release = KernelRelease();
    std::vector<SeenDevice> devices;
    for (const KnownDevice& device : known.devices)
      devices.push_back({.known = device, .look = Examine(device)});
    for (const Error& problem : known.problems) {
      console.PrintError(fmt::format("zenfs devices: {}", Printable(problem.ToString())));
    }
    if (json_) {
      PrintJson(console, devices, release);
    } else {
      const int columns =
          console.terminal().is_terminal ? console.terminal().columns : std::numeric_limits<int>::max();
      console.Print(DeviceTable(devices, release, columns) + NextStep(devices));
    }
    return 0;
  }

 private:
  static void PrintJson(Console& console, const std::vector<SeenDevice>& devices,
                        const std::string& release) {
    Json list = Json::array();
    for (const SeenDevice& device : devices) list.push_back(DeviceJson(device, release));
    console.PrintJson(Json{{"kernel", release}, {"devices", std::move(list)}});
  }

  AskedDevices asked_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDevices(CLI::App& app) { return MakeAction<DevicesAction>(app); }

}  // namespace zenfs
