#include "discovery/volume_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backends/open_device.h"
#include "base/boot_id.h"
#include "base/sync_point.h"
#include "device/joined_device.h"
#include "discovery/contents.h"
#include "metalog/pair_zones.h"
#include "metalog/probe.h"

namespace zenfs {
namespace {

std::string NameOf(const DeviceUri& uri) { return uri.kind + ":" + uri.target; }

// Options of a mount belong to the first device.
Result<std::unique_ptr<ZonedDevice>> OpenLogs(const DeviceUri& uri, OpenMode mode) {
  DeviceOptions unknown;
  ZENFS_ASSIGN_OR_RETURN(auto device, OpenDevice(uri, mode, &unknown));
  if (unknown.empty()) return device;
  return Fail(Code::kInvalidArgument,
              fmt::format("unknown option \"{}\" of {}", unknown.front().first, NameOf(uri)));
}

// The main device, as its owner named and opened it.
struct MainDevice {
  DeviceUri uri;
  std::string identity;
  std::optional<DeviceOwner> owner;
  Superblock superblock;
};

// A device that may have the logs.
struct LogDevice {
  DeviceUri uri;
  std::string identity;
  std::optional<DeviceOwner> owner;
  Superblock superblock;
  std::optional<PairRecord> record;  // of the last mount
};

Result<LogDevice> LookAt(const DeviceUri& uri) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenLogs(uri, OpenMode::kReadOnly));
  LogDevice logs{
      .uri = uri, .identity = device->identity(), .owner = device->owner(), .superblock = {}, .record = {}};
  Result<Superblock> superblock = FindLogSuperblock(*device);
  if (!superblock) superblock = FindSuperblock(*device);  // for the reason
  if (!superblock) return Fail(superblock.error());
  logs.superblock = *std::move(superblock);
  if (logs.superblock.is_log_device()) {
    ZENFS_ASSIGN_OR_RETURN(logs.record, ReadPairRecord(*device, logs.superblock));
  }
  return logs;
}

bool HasLogsOf(const Superblock& logs, const Superblock& volume) {
  return logs.is_log_device() && logs.uuid == volume.uuid && logs.log_zones == volume.log_zones &&
         logs.first_log_zone == volume.first_log_zone && logs.created_seconds == volume.created_seconds;
}

// Whether a device is the one of the last mount. Identities tell within a boot of the host, world wide names for ever. Otherwise
// the name at mkfs has to do for a file; a block device is not copied by chance.
enum class Sameness { kSame, kMoved, kCopy };

bool IsLasting(const std::string& identity) {
  return !identity.starts_with("file:") && identity.find('#') == std::string::npos &&
         std::ranges::any_of(identity.substr(identity.find(':') + 1),
                             [](char c) { return c != ':' && (c < '0' || c > '9'); });
}

Sameness Compare(const DeviceUri& uri, const std::string& identity, const std::string& recorded,
                 const std::string& boot, const std::string& name_at_mkfs) {
  if (!identity.empty() && identity == recorded) return Sameness::kSame;
  const bool comparable = !identity.empty() && !recorded.empty() &&
                          (boot == BootId() || (IsLasting(identity) && IsLasting(recorded)));
  if (comparable) return Sameness::kCopy;
  return uri.kind != "emu" || Canonical(uri) == name_at_mkfs ? Sameness::kSame : Sameness::kMoved;
}

enum class Bond {
  kOwn,         // both are the devices of the last mount
  kMoved,       // both may have been copied or moved together, or only the log device moved
  kOfOriginal,  // the main device is a copy, and the log device is the original's
  kLogsCopied,  // the log device is a copy, and the main device is the original
  // Others may change the one than the other. So the main device may lead to a device of somebody else, or the log device may
  // be a forgery: what it says of the last mount proves nothing.
  kOthers,
};

Bond BondOf(const MainDevice& main, const LogDevice& logs) {
  if (main.owner && logs.owner && *main.owner != *logs.owner) return Bond::kOthers;
  const PairRecord record = logs.record.value_or(PairRecord{});
  const Sameness of_main =
      Compare(main.uri, main.identity, record.main_identity, record.boot, logs.superblock.peer);
  const Sameness of_logs =
      Compare(logs.uri, logs.identity, record.logs_identity, record.boot, main.superblock.peer);
  if (of_main == Sameness::kSame) {
    if (of_logs == Sameness::kCopy) return Bond::kLogsCopied;
    return of_logs == Sameness::kSame ? Bond::kOwn : Bond::kMoved;
  }
  return of_logs == Sameness::kSame ? Bond::kOfOriginal : Bond::kMoved;
}

std::string Describe(const DeviceOwner& owner) {
  std::string text = fmt::format("user {}", owner.user);
  if (owner.group) text += fmt::format(" and group {}", *owner.group);
  return owner.everybody ? "everybody" : text;
}

std::unexpected<Error> RefuseBond(const MainDevice& main, const LogDevice& logs, Bond bond) {
  const std::string main_name = NameOf(main.uri);
  const std::string logs_name = NameOf(logs.uri);
  if (bond == Bond::kOthers) {
    return Fail(
        Code::kPermission,
        fmt::format("{} may be changed by {}, and {}, which has its logs, by {}; if you trust both, name the "
                    "second one: ?waldev:{}",
                    main_name, Describe(*main.owner), logs_name, Describe(*logs.owner), logs_name));
  }
  if (bond == Bond::kLogsCopied) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is not the log device of the last mount of {}, but a copy of it (or was moved to "
                    "another file); attach the original, or name this one: ?waldev:{}",
                    logs_name, main_name, logs_name));
  }
  return Fail(
      Code::kNotFound,
      fmt::format("{} is not the device that was last mounted with the logs on {}, but a copy of it (or was "
                  "moved to another file), and a copy of its log device was not found; {} belongs to the "
                  "original: name the log device that was copied with {} by ?waldev:KIND:NAME",
                  main_name, logs_name, logs_name, main_name));
}

std::unexpected<Error> Missing(const DeviceUri& main, const Superblock& volume, Code code,
                               const std::string& why) {
  return Fail(code,
              fmt::format("{}: the logs of its volume are on a second device, at mkfs {}, {}; attach that "
                          "device, or name it: ?waldev:KIND:NAME",
                          NameOf(main), volume.peer, why));
}

// Looks for the log device beside the main one, under the name that mkfs knew, and then among all known devices.
class LogDeviceSearch {
 public:
  LogDeviceSearch(const MainDevice& main, const SearchPlaces& places) : main_(main), places_(places) {}

  Result<LogDevice> Run() {
    LookAtNamed();
    if (own_.empty() && moved_.empty()) LookAtKnown();
    const std::vector<LogDevice>& found = own_.empty() ? moved_ : own_;
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      return Missing(main_.uri, main_.superblock, Code::kInvalidArgument,
                     fmt::format("and both {} and {} have them", NameOf(found[0].uri), NameOf(found[1].uri)));
    }
    if (refused_) return Fail(*refused_);
    if (!unusable_)
      return Missing(main_.uri, main_.superblock, Code::kNotFound, "which has no logs of it now");
    return Missing(main_.uri, main_.superblock, unusable_->code(),
                   fmt::format("which can't be used: {}", unusable_->ToString()));
  }

 private:
  void LookAtNamed() {
    Result<DeviceUri> recorded = ParseDeviceUri(main_.superblock.peer);
    // Options would act on this host at the word of a device.
    if (recorded && !recorded->options.empty())
      recorded = Fail(Code::kInvalidArgument, "the superblock names it with options");
    if (!recorded) {
      unusable_ = recorded.error();
      return;
    }
    // Two files that were copied or moved together are beside each other again.
    if (main_.uri.kind == "emu" && recorded->kind == "emu") {
      const std::filesystem::path beside =
          std::filesystem::path(Canonical(main_.uri).substr(main_.uri.kind.size() + 1)).parent_path() /
          std::filesystem::path(recorded->target).filename();
      const Result<LogDevice> there = LookAt({.kind = "emu", .target = beside, .options = {}});
      if (there) Add(*there);
    }
    const Result<LogDevice> there = LookAt(*recorded);
    if (!there) {
      unusable_ = there.error();
    } else {
      Add(*there);
    }
  }

  void LookAtKnown() {
    for (const KnownDevice& known : FindDevices(places_).devices) {
      if (Probe(known).kind != Contents::Kind::kLogs) continue;
      if (const Result<LogDevice> found = LookAt(known.uri)) Add(*found);
    }
  }

  void Add(const LogDevice& logs) {
    if (!HasLogsOf(logs.superblock, main_.superblock)) return;
    // A device under two names counts once.
    if (!logs.identity.empty() && !seen_.insert(logs.identity).second) return;
    const Bond bond = BondOf(main_, logs);
    if (bond == Bond::kOwn) {
      own_.push_back(logs);
    } else if (bond == Bond::kMoved) {
      moved_.push_back(logs);
    } else if (!refused_) {
      refused_ = RefuseBond(main_, logs, bond).error();
    }
  }

  const MainDevice& main_;
  const SearchPlaces& places_;
  std::set<std::string> seen_;  // identities
  std::vector<LogDevice> own_;
  std::vector<LogDevice> moved_;
  std::optional<Error> refused_;
  std::optional<Error> unusable_;  // the device that mkfs knew
};

Status CheckNamed(const DeviceUri& main, const Result<Superblock>& volume, const DeviceUri& named,
                  const Superblock& logs) {
  if (volume && !volume->has_log_device()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("option waldev: the logs of the volume on {} are on that device; leave the option "
                    "out",
                    NameOf(main)));
  }
  if (volume ? HasLogsOf(logs, *volume) : logs.is_log_device()) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("option waldev: {} has not the logs of the volume on {}{}", NameOf(named), NameOf(main),
                  logs.is_log_device() ? ", but those of " + logs.uuid.ToString() : ""));
}

// Nothing if `device`, which `main` names, has its own logs.
Result<std::optional<LogDevice>> ChooseLogDevice(const DeviceUri& main, const ZonedDevice& device,
                                                 const Result<Superblock>& volume,
                                                 const std::optional<DeviceUri>& named,
                                                 const SearchPlaces& places) {
  if (named) {
    Result<LogDevice> logs = LookAt(*named);
    if (!logs) return Fail(logs.error().With("option waldev"));
    ZENFS_RETURN_IF_ERROR(CheckNamed(main, volume, *named, logs->superblock));
    return *std::move(logs);
  }
  if (!volume || !volume->has_log_device()) return std::nullopt;
  const MainDevice of_main{
      .uri = main, .identity = device.identity(), .owner = device.owner(), .superblock = *volume};
  ZENFS_ASSIGN_OR_RETURN(LogDevice found, LogDeviceSearch(of_main, places).Run());
  return found;
}

}  // namespace

Result<std::optional<DeviceUri>> TakeLogDevice(DeviceUri& uri) {
  const std::optional<std::string> value = TakeOption(uri.options, "waldev");
  if (!value) return std::nullopt;
  Result<DeviceUri> named = ParseDeviceUri(*value);
  if (!named) return Fail(named.error().With("option waldev"));
  return *std::move(named);
}

Result<std::unique_ptr<ZonedDevice>> OpenVolumeDevice(const ResolvedUri& uri, OpenMode mode,
                                                      DeviceOptions* unclaimed, const SearchPlaces& places) {
  DeviceUri main = uri.uri;
  ZENFS_ASSIGN_OR_RETURN(const std::optional<DeviceUri> named, TakeLogDevice(main));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, OpenDevice(main, mode, unclaimed));
  if (uri.judged) ZENFS_RETURN_IF_ERROR(uri.judged->CheckIsStill(*device, main));
  const Result<Superblock> volume = FindSuperblock(*device);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<LogDevice> chosen,
                         ChooseLogDevice(main, *device, volume, named, places));
  if (!chosen) return device;
  SyncPoint::Reach("OpenVolumeDevice:chosen");
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> logs, OpenLogs(chosen->uri, mode));
  const JudgedDevice judged{.identity = chosen->identity, .owner = chosen->owner};
  ZENFS_RETURN_IF_ERROR(judged.CheckIsStill(*logs, chosen->uri));
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, FindLogSuperblock(*logs));
  if (volume && !HasLogsOf(superblock, *volume)) {
    return Missing(main, *volume, Code::kBusy,
                   fmt::format("and {} was changed meanwhile", NameOf(chosen->uri)));
  }
  return JoinDevices(std::move(device), std::move(logs), superblock.first_log_zone);
}

}  // namespace zenfs
