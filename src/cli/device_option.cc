#include "cli/device_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "backends/open_device.h"
#include "cli/configuration.h"
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
constexpr Flag kFlags[] = {{"--volume", "", "name of a volume"},
                           {"--zbd", "dev", "name of a block device"},
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

Result<DeviceUri> FindVolume(const std::string& name) {
  ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
  return configuration.Find(name);
}

Result<DeviceUri> UriOf(std::string_view flag, const std::string& value) {
  if (flag == "--uri") return ParseDeviceUri(value);
  const auto found =
      std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.name == flag; });
  if (value.empty()) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: no {} is given", flag, found->wants));
  }
  if (flag == "--volume") return FindVolume(value);
  if (flag == "--zbd" && IsImage(value)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is not a block device; --emu={} names an emulated device", NodePathOf(value), value));
  }
  return DeviceUri{.kind = found->kind, .target = value, .options = {}};
}

// The device that a word without a flag names: a volume.
Result<DeviceUri> UriOfWord(const CLI::App& app, const std::string& word) {
  Result<DeviceUri> volume = FindVolume(word);
  if (volume || volume.error().code() != Code::kNotFound) return volume;
  const std::string flag = DeviceFlagFor(word);
  if (flag.empty()) return volume;
  return Fail(Code::kInvalidArgument,
              fmt::format("a device needs a flag: {}; see '{} --help'", flag, app.get_name()));
}

// For more devices than one. `given`: pairs of a flag, or "" for a word, and its value.
Error DescribeSurplus(const CLI::App& app, std::span<const std::pair<std::string, std::string>> given) {
  if (given.front().first.empty()) {
    return Error(Code::kInvalidArgument, fmt::format("'{}' is one word too many; see '{} --help'",
                                                     given.front().second, app.get_name()));
  }
  std::vector<std::string_view> flags;
  for (const auto& [flag, value] : given) flags.push_back(flag);
  return Error(Code::kInvalidArgument,
               fmt::format("{} name {} devices; name exactly one", fmt::join(flags, " and "), flags.size()));
}

// `unclaimed`: the options that are not those of the device.
Result<NamedDevice> Named(Result<std::unique_ptr<ZonedDevice>> device, const DeviceOptions& unclaimed,
                          OpenMode mode) {
  // Report a wrong option first, even if the device can't be opened either.
  NamedDevice named;
  ZENFS_ASSIGN_OR_RETURN(named.mount_options, ParseMountOptions(unclaimed, DeviceOptionForms()));
  ZENFS_ASSIGN_OR_RETURN(named.device, std::move(device));
  if (mode == OpenMode::kExclusive && named.mount_options.read_only) {
    return Fail(Code::kReadOnly, "this verb writes; leave the option 'ro' out of its URI");
  }
  return named;
}

}  // namespace

std::string DeviceFlagFor(const std::string& word) {
  if (word.starts_with("zenfs://")) return "--uri=" + word;
  if (ParseDeviceUri(word)) return "--uri=zenfs://" + word;
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(word, error).type();
  const bool is_missing = type == std::filesystem::file_type::not_found;
  if (type == std::filesystem::file_type::block || (is_missing && word.starts_with("/dev/")))
    return "--zbd=" + word;
  if (type == std::filesystem::file_type::regular || (is_missing && word.ends_with(".img")))
    return "--emu=" + word;
  return {};
}

DeviceOption::DeviceOption(CLI::App& app, Use use, Words words) : app_(app), use_(use) {
  const std::string group = use == kMany ? "Devices (one or more)" : "Device (exactly one)";
  const auto add = [&](const std::string& flag, std::vector<std::string>& values, const std::string& type,
                       const std::string& help) {
    // A flag takes one value. Uris decides whether several flags are allowed.
    app.add_option(flag, values, help)->type_name(type)->group(group)->allow_extra_args(false);
  };
  if (words == kVolume) {
    // Not "volume": newer CLI11 refuses that beside --volume.
    app.add_option("VOLUME", words_, "A volume that the configuration names (docs/use/configuration.md)")
        ->type_name("VOLUME")
        ->expected(use == kMany ? -1 : 1)
        ->allow_extra_args(use == kMany)
        ->group(group);
  }
  add("--volume", volume_, "VOLUME", "A volume that the configuration names");
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

std::vector<std::pair<std::string, std::string>> DeviceOption::Given() const {
  std::vector<std::pair<std::string, std::string>> given;
  for (const std::string& word : words_) given.emplace_back("", word);
  for (const Flag& flag : kFlags) {
    for (const std::string& value : app_.get_option(flag.name)->results())
      given.emplace_back(flag.name, value);
  }
  return given;
}

Result<DeviceUri> DeviceOption::Default(OpenMode mode) const {
  std::string why = "no device given";
  ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
  if (configuration.default_volume) {
    const std::string& name = configuration.default_volume->value;
    if (mode == OpenMode::kReadOnly) return configuration.Find(name);
    why += fmt::format(", and only verbs that read use the default volume; --volume={} names it", name);
  }
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}; name {} with --volume=VOLUME, --zbd=NAME, --nvme=NAME, --zonefs=MOUNT, --emu=PATH or "
                  "--uri=URI",
                  why, use_ == kMany ? "at least one" : "exactly one"));
}

Result<DeviceUri> DeviceOption::Uri(OpenMode mode) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DeviceUri> uris, Uris(mode));
  return uris.front();
}

Result<std::vector<DeviceUri>> DeviceOption::Uris(OpenMode mode) const {
  const auto given = Given();
  std::vector<DeviceUri> uris;
  if (given.empty()) {
    ZENFS_ASSIGN_OR_RETURN(uris.emplace_back(), Default(mode));
    return uris;
  }
  if (use_ != kMany && given.size() > 1) return Fail(DescribeSurplus(app_, given));
  for (const auto& [flag, value] : given) {
    if (flag.empty()) {
      ZENFS_ASSIGN_OR_RETURN(uris.emplace_back(), UriOfWord(app_, value));
    } else {
      ZENFS_ASSIGN_OR_RETURN(uris.emplace_back(), UriOf(flag, value));
    }
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
  ZENFS_ASSIGN_OR_RETURN(DeviceUri uri, Uri(mode));
  const auto is_flush_dir = [](const auto& option) { return option.first == "flush_dir"; };
  if (mode == OpenMode::kExclusive && std::ranges::none_of(uri.options, is_flush_dir)) {
    ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
    if (const auto& directory = configuration.flush_directory) {
      uri.options.emplace_back("flush_dir", directory->value);
    }
  }
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
