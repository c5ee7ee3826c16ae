#include "cli/device_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "backends/open_device.h"
#include "discovery/resolve.h"
#include "discovery/volume_device.h"
#include "volume/aux_directory/aux_volume.h"

namespace zenfs {
namespace {

struct Flag {
  const char* name;
  const char* kind;   // kind of the device; for --uri it is in the value
  const char* wants;  // its value, for messages
};
constexpr Flag kFlags[] = {{"--zbd", "dev", "name of a block device"},
                           {"--nvme", "nvme", "name of a character device"},
                           {"--zonefs", "zonefs", "mountpoint"},
                           {"--emu", "emu", "path of the device's file"},
                           {"--uri", "", "URI"}};

std::string NodePathOf(const std::string& name) { return name.starts_with('/') ? name : "/dev/" + name; }

// True for a file that exists, or a name like that of one, if no block device has the name.
bool IsImage(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_block_file(NodePathOf(name), error)) return false;
  return name.ends_with(".img") || std::filesystem::is_regular_file(name, error);
}

Result<DeviceUri> UriOf(std::string_view flag, const std::string& value) {
  if (flag == "--uri") return ParseDeviceUri(value);
  const auto found =
      std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.name == flag; });
  if (value.empty()) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: no {} is given", flag, found->wants));
  }
  if (flag == "--zbd" && IsImage(value)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is not a block device; --emu={} names an emulated device", NodePathOf(value), value));
  }
  return DeviceUri{.kind = found->kind, .target = value, .options = {}};
}

// `unclaimed`: the options that are not those of the device.
Result<NamedDevice> Named(Result<std::unique_ptr<ZonedDevice>> device, const DeviceOptions& unclaimed,
                          OpenMode mode) {
  // Report a wrong option first, even if the device can't be opened either.
  NamedDevice named;
  ZENFS_ASSIGN_OR_RETURN(named.mount_options, ParseMountOptions(unclaimed, DeviceOptionForms()));
  ZENFS_ASSIGN_OR_RETURN(named.device, std::move(device));
  if (mode == OpenMode::kExclusive && named.mount_options.read_only) {
    return Fail(Code::kReadOnly, "--uri: this verb writes; leave the option 'ro' out");
  }
  return named;
}

}  // namespace

DeviceOption::DeviceOption(CLI::App& app, Use use) : app_(app), use_(use) {
  const std::string group = use == kMany ? "Devices (one or more)" : "Device (exactly one)";
  const auto add = [&](const std::string& flag, std::vector<std::string>& values, const std::string& type,
                       const std::string& help) {
    // A flag takes one value. Uris decides whether several flags are allowed.
    app.add_option(flag, values, help)->type_name(type)->group(group)->allow_extra_args(false);
  };
  add("--zbd", zbd_, "NAME", "A zoned block device: its name under /dev, or a path");
  add("--nvme", nvme_, "NAME", "A zoned NVMe drive by its own commands: its character device, such as ng0n1");
  add("--zonefs", zonefs_, "MOUNT", "A mounted zonefs");
  add("--emu", emu_, "PATH", "An emulated device: the path of its file");
  add("--uri", uri_, "URI",
      "A URI as for RocksDB programs: zenfs://dev:NAME, nvme:, zonefs:, emu: or uuid:UUID, and "
      "?key:value,...");
  if (use != kOneWrite) return;
  app.add_flag("--discard-unsynced", discard_unsynced_,
               "Discard bytes that a dead process flushed and did not sync, if they can't be read any more");
}

Result<DeviceUri> DeviceOption::Uri() const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DeviceUri> uris, Uris());
  return uris.front();
}

Result<std::vector<DeviceUri>> DeviceOption::Uris() const {
  std::vector<std::pair<std::string, std::string>> given;
  std::string flags;
  for (const Flag& flag : kFlags) {
    for (const std::string& value : app_.get_option(flag.name)->results()) {
      flags += fmt::format("{}{}", given.empty() ? "" : " and ", flag.name);
      given.emplace_back(flag.name, value);
    }
  }
  if (given.empty() || (use_ != kMany && given.size() > 1)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format(
            "{}; name {} with --zbd=NAME, --nvme=NAME, --zonefs=MOUNT, --emu=PATH or --uri=URI",
            given.empty() ? "no device given" : fmt::format("{} name {} devices", flags, given.size()),
            use_ == kMany ? "at least one" : "exactly one"));
  }
  std::vector<DeviceUri> uris;
  for (const auto& [flag, value] : given) {
    ZENFS_ASSIGN_OR_RETURN(DeviceUri uri, UriOf(flag, value));
    uris.push_back(std::move(uri));
  }
  return uris;
}

Result<NamedDevice> OpenNamedDevice(const DeviceUri& uri, OpenMode mode) {
  DeviceOptions unclaimed;
  ZENFS_ASSIGN_OR_RETURN(const ResolvedUri resolved, ResolveUri(uri));
  auto device = OpenVolumeDevice(resolved, mode, &unclaimed);
  return Named(std::move(device), unclaimed, mode);
}

Result<NamedDevice> OpenSingleDevice(const DeviceUri& uri, OpenMode mode) {
  DeviceOptions unclaimed;
  auto device = OpenDevice(uri, mode, &unclaimed);
  return Named(std::move(device), unclaimed, mode);
}

Result<NamedDevice> DeviceOption::Open(OpenMode mode) const {
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, Uri());
  return OpenNamedDevice(uri, mode);
}

Result<std::shared_ptr<Volume>> DeviceOption::MountNamed(NamedDevice named, Console& console) const {
  named.mount_options.discard_unsynced |= discard_unsynced_;
  ZENFS_ASSIGN_OR_RETURN(auto volume, Volume::Mount(std::move(named.device), named.mount_options));
  PrintNotices(volume->notices(), console);
  return volume;
}

Result<std::shared_ptr<Volume>> DeviceOption::Mount(OpenMode mode, Console& console) const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(mode));
  return MountNamed(std::move(named), console);
}

Result<std::shared_ptr<Volume>> DeviceOption::MountForFiles(OpenMode mode, Console& console) const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(mode));
  const std::string consent = named.mount_options.aux_path;
  ZENFS_ASSIGN_OR_RETURN(auto volume, MountNamed(std::move(named), console));
  auto with = WithAuxDirectory(volume, consent);
  if (with || with.error().code() == Code::kInvalidArgument) return with;
  console.PrintNote(app_.get_name(), fmt::format("{}; files there are left alone", with.error().ToString()));
  return volume;
}

Status DeviceOption::Unmount(Volume& volume, Console& console) const {
  const std::size_t before = volume.notices().size();
  const Status unmounted = volume.Unmount();
  const std::vector<std::string> notices = volume.notices();
  PrintNotices(std::span(notices).subspan(std::min(before, notices.size())), console);
  return unmounted;
}

void DeviceOption::PrintNotices(std::span<const std::string> notices, Console& console) const {
  for (const std::string& notice : notices) console.PrintNote(app_.get_name(), notice);
}

AskedDevices::AskedDevices(CLI::App& app) {
  app.add_option("--emu", paths_, "Also look at this emulated device; may be given several times")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

KnownDevices AskedDevices::Find() const {
  std::vector<DeviceUri> asked;
  for (const std::string& path : paths_) asked.push_back({.kind = "emu", .target = path, .options = {}});
  return FindDevices(SearchPlaces::OfThisProcess(), asked);
}

}  // namespace zenfs
