#include "cli/device_option.h"

#include <fmt/format.h>

#include "backends/open_device.h"

namespace zenfs {
namespace {

constexpr const char* kFlags[] = {"--zbd", "--zonefs", "--emu", "--uri"};

Result<DeviceUri> UriOf(std::string_view flag, const std::string& value) {
  if (flag == "--zbd" || flag == "--zonefs") {
    return Fail(Code::kNotSupported,
                fmt::format("{}: real devices arrive with a later version; this one opens emulated devices "
                            "(--emu=PATH)",
                            flag));
  }
  if (flag == "--uri") return ParseDeviceUri(value);
  if (value.empty()) return Fail(Code::kInvalidArgument, "--emu: the path is empty; name the device's file");
  return DeviceUri{.kind = "emu", .target = value, .options = {}};
}

}  // namespace

DeviceOption::DeviceOption(CLI::App& app, Use use) : app_(app), use_(use) {
  const std::string group = use == kMany ? "Devices (one or more)" : "Device (exactly one)";
  const auto add = [&](const std::string& flag, std::vector<std::string>& values, const std::string& type,
                       const std::string& help) {
    // A flag takes one value; that a second flag names a second device is for Uris to judge.
    app.add_option(flag, values, help)->type_name(type)->group(group)->allow_extra_args(false);
  };
  add("--emu", emu_, "PATH", "An emulated device: the path of its file");
  add("--uri", uri_, "URI", "As a RocksDB program names it: zenfs://emu:PATH[?key:value,...]");
  add("--zbd", zbd_, "NAME", "A zoned block device under /dev (arrives with a later version)");
  add("--zonefs", zonefs_, "MOUNT", "A mounted zonefs (arrives with a later version)");
  if (use != kOneWrite) return;
  app.add_flag("--discard-unsynced", discard_unsynced_,
               "Give up what a dead process had flushed and not synced, where it can't be read any more");
}

Result<DeviceUri> DeviceOption::Uri() const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DeviceUri> uris, Uris());
  return uris.front();
}

Result<std::vector<DeviceUri>> DeviceOption::Uris() const {
  std::vector<std::pair<std::string, std::string>> given;
  std::string flags;
  for (const char* flag : kFlags) {
    for (const std::string& value : app_.get_option(flag)->results()) {
      flags += fmt::format("{}{}", given.empty() ? "" : " and ", flag);
      given.emplace_back(flag, value);
    }
  }
  if (given.empty() || (use_ != kMany && given.size() > 1)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}; name {} with --emu=PATH, --uri=URI, --zbd=NAME or --zonefs=MOUNT",
                            given.empty() ? "no device given"
                                          : fmt::format("{} name {} devices", flags, given.size()),
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
  // A wrong option is the better message, also where the device could not be opened either.
  NamedDevice named;
  DeviceOptions unclaimed;
  auto device = OpenDevice(uri, mode, &unclaimed);
  ZENFS_ASSIGN_OR_RETURN(named.mount_options, ParseMountOptions(unclaimed));
  ZENFS_ASSIGN_OR_RETURN(named.device, std::move(device));
  return named;
}

Result<NamedDevice> DeviceOption::Open(OpenMode mode) const {
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, Uri());
  return OpenNamedDevice(uri, mode);
}

Result<std::shared_ptr<Volume>> DeviceOption::MountReadOnly() const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(OpenMode::kReadOnly));
  return Volume::Mount(std::move(named.device), named.mount_options);
}

Result<std::shared_ptr<Volume>> DeviceOption::MountReadWrite(Console& console) const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(OpenMode::kExclusive));
  if (named.mount_options.read_only) {
    return Fail(Code::kReadOnly, "--uri: this verb writes; leave the option 'ro' out");
  }
  named.mount_options.discard_unsynced |= discard_unsynced_;
  ZENFS_ASSIGN_OR_RETURN(auto volume, Volume::Mount(std::move(named.device), named.mount_options));
  for (const std::string& notice : volume->notices()) {
    console.PrintError(fmt::format("{}: note: {}", app_.get_name(), Printable(notice)));
  }
  return volume;
}

}  // namespace zenfs
