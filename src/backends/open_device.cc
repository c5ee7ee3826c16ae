#include "backends/open_device.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "backends/block/block_device.h"
#include "backends/emulator/emulator.h"
#include "backends/nvme/nvme_device.h"
#include "backends/zonefs/zonefs_device.h"
#include "base/size_text.h"
#include "device/checked_device.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kMaxLatencyUs = 10'000'000;
constexpr std::uint32_t kMaxCopyKib = 1 << 20;

Result<std::uint32_t> ParseNumber(std::string_view key, std::string_view value, std::string_view unit,
                                  std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc{} && end == value.data() + value.size() && number <= most) return number;
  return Fail(Code::kInvalidArgument,
              fmt::format("option {}:{} is not a number of {} from 0 to {}", key, value, unit, most));
}

Result<std::uint32_t> ParseLatency(std::string_view key, std::string_view value) {
  return ParseNumber(key, value, "microseconds", kMaxLatencyUs);
}

Result<bool> ParseSwitch(std::string_view key, std::string_view value) {
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Fail(Code::kInvalidArgument, fmt::format("option {}:{} is neither true nor false", key, value));
}

// io:uring or io:plain
Result<bool> ParseIo(std::string_view value) {
  if (value == "uring") return true;
  if (value == "plain") return false;
  return Fail(Code::kInvalidArgument, fmt::format("option io:{} is neither io:uring nor io:plain", value));
}

// Takes `io`, the common option of the kernel's devices.
Result<bool> TakeIo(DeviceOptions& options) {
  const std::optional<std::string> value = TakeOption(options, "io");
  return value ? ParseIo(*value) : Result<bool>(true);
}

// Takes `commands`, of block devices.
Result<bool> TakeCommands(DeviceOptions& options) {
  const std::optional<std::string> value = TakeOption(options, "commands");
  return value ? ParseSwitch("commands", *value) : Result<bool>(true);
}

Result<std::unique_ptr<ZonedDevice>> OpenMountedZones(const DeviceUri& uri, OpenMode mode,
                                                      DeviceOptions* unclaimed) {
  *unclaimed = uri.options;
  ZENFS_ASSIGN_OR_RETURN(const bool io_uring, TakeIo(*unclaimed));
  return OpenZonefs(uri.target, mode, {.io_uring = io_uring});
}

Result<std::unique_ptr<ZonedDevice>> OpenBlock(const DeviceUri& uri, OpenMode mode,
                                               DeviceOptions* unclaimed) {
  *unclaimed = uri.options;
  ZENFS_ASSIGN_OR_RETURN(const bool io_uring, TakeIo(*unclaimed));
  ZENFS_ASSIGN_OR_RETURN(const bool commands, TakeCommands(*unclaimed));
  const BlockOptions options{.io_uring = io_uring};
  return commands ? OpenBlockDeviceWithCommands(uri.target, mode, options)
                  : OpenBlockDevice(uri.target, mode, options);
}

Result<std::unique_ptr<ZonedDevice>> OpenNvme(const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed) {
  *unclaimed = uri.options;
  ZENFS_ASSIGN_OR_RETURN(const bool io_uring, TakeIo(*unclaimed));
  return OpenNvmeDevice(uri.target, mode, {.io_uring = io_uring});
}

Result<std::unique_ptr<ZonedDevice>> OpenEmulator(const DeviceUri& uri, OpenMode mode,
                                                  DeviceOptions* unclaimed) {
  EmulatorOptions options;
  for (const auto& [key, value] : uri.options) {
    if (key == "latency_us") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint32_t us, ParseLatency(key, value));
      options.read_us = options.write_us = options.append_us = options.management_us = options.flush_us = us;
    } else if (key == "write_us") {
      ZENFS_ASSIGN_OR_RETURN(options.write_us, ParseLatency(key, value));
      options.append_us = options.write_us;
    } else if (key == "flush_us") {
      ZENFS_ASSIGN_OR_RETURN(options.flush_us, ParseLatency(key, value));
    } else if (key == "timing") {
      ZENFS_ASSIGN_OR_RETURN(options.timing, ParseTiming(value));
    } else if (key == "copy_kib") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint32_t kib, ParseNumber(key, value, "KiB", kMaxCopyKib));
      options.max_copy_bytes = std::uint64_t{kib} << 10;
    } else if (key == "page_cache") {
      const Result<std::uint64_t> size = ParseSize(value);
      if (!size) return Fail(size.error().With("option page_cache"));
      options.page_cache_bytes = *size;
    } else if (key == "warm_cache") {
      ZENFS_ASSIGN_OR_RETURN(options.warm_cache, ParseSwitch(key, value));
    } else if (key == "hostsync") {
      ZENFS_ASSIGN_OR_RETURN(options.hostsync, ParseSwitch(key, value));
    } else {
      unclaimed->emplace_back(key, value);
    }
  }
  return OpenEmulatedFile(uri.target, mode, options);
}

Result<std::unique_ptr<ZonedDevice>> OpenUnchecked(const DeviceUri& uri, OpenMode mode,
                                                   DeviceOptions* unclaimed) {
  if (uri.kind == "emu") return OpenEmulator(uri, mode, unclaimed);
  if (uri.kind == "nvme") return OpenNvme(uri, mode, unclaimed);
  if (uri.kind == "dev") return OpenBlock(uri, mode, unclaimed);
  if (uri.kind == "zonefs") return OpenMountedZones(uri, mode, unclaimed);
  return Fail(Code::kNotSupported, fmt::format("no backend opens {}:", uri.kind));
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode,
                                                DeviceOptions* unclaimed) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, OpenUnchecked(uri, mode, unclaimed));
  return CheckDevice(std::move(device));
}

}  // namespace zenfs
