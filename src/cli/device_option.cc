#include "cli/device_option.h"

#include <fmt/format.h>

#include "backends/open_device.h"

namespace zenfs {
namespace {

constexpr const char* kFlags[] = {"--zbd", "--zonefs", "--emu", "--uri"};

}  // namespace

DeviceOption::DeviceOption(CLI::App& app) : app_(app) {
  const std::string group = "Device (exactly one)";
  app.add_option("--emu", emu_, "An emulated device: the path of its file")->type_name("PATH")->group(group);
  app.add_option("--uri", uri_, "As a RocksDB program names it: zenfs://emu:PATH[?key:value,...]")
      ->type_name("URI")
      ->group(group);
  app.add_option("--zbd", zbd_, "A zoned block device under /dev (arrives with a later version)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--zonefs", zonefs_, "A mounted zonefs (arrives with a later version)")
      ->type_name("MOUNT")
      ->group(group);
}

Result<DeviceUri> DeviceOption::Uri() const {
  std::string given;
  int count = 0;
  for (const char* flag : kFlags) {
    if (app_.get_option(flag)->count() == 0) continue;
    given += fmt::format("{}{}", count == 0 ? "" : " and ", flag);
    ++count;
  }
  if (count != 1) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}; name exactly one with --emu=PATH, --uri=URI, --zbd=NAME or --zonefs=MOUNT",
                    count == 0 ? "no device given" : fmt::format("{} name {} devices", given, count)));
  }
  if (given == "--zbd" || given == "--zonefs") {
    return Fail(Code::kNotSupported,
                fmt::format("{}: real devices arrive with a later version; this one opens emulated devices "
                            "(--emu=PATH)",
                            given));
  }
  if (given == "--uri") return ParseDeviceUri(uri_);
  if (emu_.empty()) return Fail(Code::kInvalidArgument, "--emu: the path is empty; name the device's file");
  return DeviceUri{.kind = "emu", .target = emu_, .options = {}};
}

Result<NamedDevice> DeviceOption::Open(OpenMode mode) const {
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, Uri());
  // A wrong option is the better message, also where the device could not be opened either.
  NamedDevice named;
  DeviceOptions unclaimed;
  auto device = OpenDevice(uri, mode, &unclaimed);
  ZENFS_ASSIGN_OR_RETURN(named.mount_options, ParseMountOptions(unclaimed));
  ZENFS_ASSIGN_OR_RETURN(named.device, std::move(device));
  return named;
}

Result<std::shared_ptr<Volume>> DeviceOption::MountReadOnly() const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(OpenMode::kReadOnly));
  return Volume::Mount(std::move(named.device), named.mount_options);
}

Result<std::shared_ptr<Volume>> DeviceOption::MountReadWrite() const {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, Open(OpenMode::kExclusive));
  if (named.mount_options.read_only) {
    return Fail(Code::kReadOnly, "--uri: this verb writes; leave the option 'ro' out");
  }
  return Volume::Mount(std::move(named.device), named.mount_options);
}

}  // namespace zenfs
