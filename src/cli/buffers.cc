// Files of append buffers in shared memory, and their state by the metadata of this host's devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counted.h"
#include "base/shared_memory.h"
#include "base/short_bytes.h"
#include "cli/configuration.h"
#include "cli/console.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"
#include "discovery/volume_device.h"
#include "volume/shared_buffers.h"

namespace zenfs {
namespace {

enum class Standing {
  kInUse,     // in use by a living process
  kNeeded,    // they hold bytes that the device lacks; its next mount writes them
  kSpent,     // their device has all their bytes; its next mount removes them
  kLeftOver,  // no mount will read them, or they are empty
  kNoDevice,  // they hold bytes, and their device was not found
  kUnclear,   // they or their device could not be read; `why` has the reason
};

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

struct ListedBuffers {
  SharedBuffers found;
  Standing standing = Standing::kUnclear;
  std::string device;  // "emu:a.img"; empty: not found
  std::optional<std::uint64_t>
      lost;  // bytes lost if the file is removed; an upper bound for kInUse and kNoDevice
  std::optional<Error> why;
};

// The readable devices, to ask them about buffers.
class PresentDevices {
 public:
  // Opens the devices that lists and the kernel name, and those of `known`.
  explicit PresentDevices(const KnownDevices& known);

  // Call this after all files were examined.
  [[nodiscard]] ListedBuffers Judge(SharedBuffers found);
  // One line for each device that could not be opened.
  const std::vector<Error>& not_read() const { return not_read_; }

 private:
  struct Present {
    std::string name;
    std::unique_ptr<ZonedDevice> device;
    std::unique_ptr<NeededBuffers> needed;
  };

  void AskAboutDamaged(ListedBuffers& listed);
  void AskItsDevice(ListedBuffers& listed);

  std::vector<Present> devices_;
  std::vector<Error> not_read_;
};

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

// One line per file, with what can be done about it in words. `now`: seconds since 1970.
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

class BuffersAction : public Action {
 public:
  explicit BuffersAction(CLI::App& app) : asked_(app) {
    app.add_option("path", paths_, "Only these files")->type_name("PATH");
    app.add_option(
           "--dir", directories_,
           "Look in this directory, the flush_dir of a mount, instead of the usual ones; may be given "
           "several times")
        ->type_name("DIR")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--remove", remove_,
                 "Remove unneeded files; with PATH these files, even if their device is missing");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    const KnownDevices known = asked_.Find();
    PresentDevices devices(known);
    std::vector<ListedBuffers> list;
    ZENFS_ASSIGN_OR_RETURN(FoundBuffers all, Find());
    for (SharedBuffers& found : all.files) list.push_back(devices.Judge(std::move(found)));
    for (const auto* problems : {&known.problems, &devices.not_read()}) {
      for (const Error& problem : *problems) {
        console.PrintError(fmt::format("zenfs buffers: {}", Printable(problem.ToString())));
      }
    }
    if (all.omitted != 0) {
      console.PrintError(
          fmt::format("zenfs buffers: {} not examined, beyond the first {}; name them, or remove "
                      "the others first",
                      Counted(all.omitted, "file"), all.files.size()));
    }
    const std::uint64_t now = WallSeconds();
    if (remove_) return Remove(console, list, now);
    if (json_) {
      Json rows = Json::array();
      for (const ListedBuffers& listed : list) rows.push_back(BufferJson(listed, now));
      console.PrintJson(Json{{"buffers", std::move(rows)}, {"not_examined", all.omitted}});
      return 0;
    }
    const Terminal& terminal = console.terminal();
    console.Print(
        BufferTable(list, now, terminal.is_terminal ? terminal.columns : std::numeric_limits<int>::max()));
    return 0;
  }

 private:
  Result<FoundBuffers> Find() const {
    for (const std::string& directory : directories_) {
      std::error_code error;
      if (std::filesystem::is_directory(directory, error)) continue;
      return Fail(Code::kNotFound, fmt::format("--dir={}: not a directory, or not accessible", directory));
    }
    if (paths_.empty()) {
      if (!directories_.empty()) return FindSharedBuffers(directories_);
      ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> usual, UsualDirectories());
      return FindSharedBuffers(usual);
    }
    FoundBuffers found;
    for (const std::string& path : paths_) {
      found.files.push_back(LookAtSharedBuffers(path));
      const std::optional<Error>& problem = found.files.back().problem;
      if (problem && problem->code() == Code::kNotFound) return Fail(*problem);
    }
    return found;
  }

  static Result<std::vector<std::string>> UsualDirectories() {
    std::vector<std::string> directories = SharedMemoryDirectories();
    ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
    const auto& configured = configuration.flush_directory;
    if (configured && configured->value.starts_with('/') &&
        std::ranges::find(directories, configured->value) == directories.end()) {
      directories.push_back(configured->value);
    }
    return directories;
  }

  // OK if the named file may be removed, otherwise the reason why not.
  static Status MayGo(const ListedBuffers& listed) {
    const std::string& path = listed.found.path;
    switch (listed.standing) {
      case Standing::kInUse:
        return Fail(Code::kBusy, listed.found.finished
                                     ? fmt::format("{}: process {} uses it", path, listed.found.process)
                                     : fmt::format("{}: a process uses it", path));
      case Standing::kNeeded:
        return Fail(Code::kBusy,
                    fmt::format("{}: {} needs it: {} were flushed and are not on the device; a read-write "
                                "mount on this host writes them there, one with discard_unsynced drops them",
                                path, listed.device,
                                listed.lost ? Counted(*listed.lost, "byte") : "bytes that can't be counted"));
      case Standing::kUnclear:
        if (listed.found.problem && listed.found.problem->code() == Code::kCorruption) return {};
        return Fail(*listed.why);
      default: return {};
    }
  }

  static std::string GivenUp(const ListedBuffers& listed) {
    if (!listed.lost) return "it was damaged; its content is unknown";
    if (*listed.lost == 0) return "nothing is lost";
    return fmt::format("lost with it, at most: {} that {} flushed and not synced",
                       Counted(*listed.lost, "byte"), *listed.lost == 1 ? "was" : "were");
  }

  Result<int> Remove(Console& console, const std::vector<ListedBuffers>& list, std::uint64_t now) const {
    std::vector<const ListedBuffers*> chosen;
    for (const ListedBuffers& listed : list) {
      if (!paths_.empty()) ZENFS_RETURN_IF_ERROR(MayGo(listed));
      if (!paths_.empty() || listed.standing == Standing::kLeftOver) chosen.push_back(&listed);
    }
    Json rows = Json::array();
    Status first;
    for (const ListedBuffers* listed : chosen) {
      const Status removed = RemoveSharedBuffers(listed->found);
      if (!removed.ok()) {
        if (first.ok()) {
          first = removed;
        } else {
          console.PrintError(fmt::format("zenfs buffers: {}", Printable(removed.error().ToString())));
        }
        continue;
      }
      rows.push_back(BufferJson(*listed, now));
      if (json_) continue;
      console.Print(fmt::format("Removed: {}, {}; {}.\n", Printable(listed->found.path),
                                ShortBytes(listed->found.size), GivenUp(*listed)));
    }
    if (json_) console.PrintJson(Json{{"removed", std::move(rows)}});
    if (!first.ok()) return Fail(first.error());
    if (!json_ && chosen.empty()) {
      console.Print(fmt::format("Nothing to remove; {} kept.\n", Counted(list.size(), "file")));
    }
    return 0;
  }

  AskedDevices asked_;
  std::vector<std::string> paths_;
  std::vector<std::string> directories_;
  bool remove_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeBuffers(CLI::App& app) { return MakeAction<BuffersAction>(app); }

}  // namespace zenfs
