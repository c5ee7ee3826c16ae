#include "open/mount_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/bytes.h"
#include "zone/spread.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kBufferKibMax = 1 << 20;  // 1 GiB
constexpr std::uint64_t kWalBufferKibMax = 8 << 10;
constexpr std::uint64_t kWalDepthMax = 64;
constexpr std::uint64_t kSpaceWaitMax = 24 * 3600;

Result<std::uint64_t> Number(const std::string& key, const std::string& value, std::uint64_t min,
                             std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < min || number > max) {
    return Fail(Code::kInvalidArgument,
                fmt::format("option {}: \"{}\" is not a number from {} to {}", key, value, min, max));
  }
  return number;
}

Result<bool> Flag(const std::string& key, const std::string& value) {
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Fail(Code::kInvalidArgument, fmt::format("option {}: \"{}\" is neither true nor false", key, value));
}

Result<WalSending> ParseWal(const std::string& key, const std::string& value) {
  if (value == "auto") return WalSending::kAuto;
  if (value == "append") return WalSending::kAppend;
  if (value == "write") return WalSending::kWrite;
  if (value == "blocking") return WalSending::kBlocking;
  return Fail(Code::kInvalidArgument,
              fmt::format("option {}: \"{}\" is not auto, append, write or blocking", key, value));
}

Result<const PlacementPolicy*> ParsePlacement(const std::string& key, const std::string& value) {
  if (const PlacementPolicy* const policy = FindPlacement(value)) return policy;
  std::vector<std::string_view> names;
  for (const PlacementPolicy& policy : PlacementPolicies()) names.push_back(policy.name);
  return Fail(Code::kInvalidArgument,
              fmt::format("option {}: \"{}\" is not one of {}", key, value, fmt::join(names, ", ")));
}

Result<std::string> ParseDirectory(const std::string& key, const std::string& value) {
  if (value == "auto" || value == "none" || value.starts_with('/')) return value;
  return Fail(Code::kInvalidArgument,
              fmt::format("option {}: \"{}\" is neither auto, none nor an absolute path", key, value));
}

Result<std::string> File(const std::string& key, const std::string& value) {
  if (value.starts_with('/')) return value;
  return Fail(Code::kInvalidArgument, fmt::format("option {}: \"{}\" is not an absolute path", key, value));
}

}  // namespace

std::uint64_t WalBufferBytes(const MountOptions& options, std::uint64_t zone_capacity) {
  constexpr std::uint64_t kLeast = 256 << 10;
  constexpr std::uint64_t kMost = 2 << 20;  // a drive without a write buffer takes about 4 ms for it
  constexpr std::uint64_t kPartOfZone = 16;
  return options.wal_buffer_bytes.value_or(
      RoundDown(std::clamp(std::bit_ceil(zone_capacity) / kPartOfZone, kLeast, kMost), kLeast));
}

Result<MountOptions> ParseMountOptions(const std::vector<std::pair<std::string, std::string>>& pairs,
                                       std::string_view others) {
  MountOptions options;
  for (const auto& [key, value] : pairs) {
    if (key == "ro") {
      ZENFS_ASSIGN_OR_RETURN(options.read_only, Flag(key, value));
    } else if (key == "buffer_kib") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint64_t kib, Number(key, value, 64, kBufferKibMax));
      options.plain_buffer_bytes = kib * 1024;
    } else if (key == "wal_buffer_kib") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint64_t kib, Number(key, value, 4, kWalBufferKibMax));
      options.wal_buffer_bytes = RoundUp(kib * 1024, std::uint64_t{4096});
    } else if (key == "wal") {
      ZENFS_ASSIGN_OR_RETURN(options.wal, ParseWal(key, value));
    } else if (key == "wal_depth") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint64_t depth, Number(key, value, 1, kWalDepthMax));
      options.wal_depth = static_cast<std::uint32_t>(depth);
    } else if (key == "sync_blocks") {
      ZENFS_ASSIGN_OR_RETURN(options.sync_blocks, Flag(key, value));
    } else if (key == "placement") {
      ZENFS_ASSIGN_OR_RETURN(options.placement, ParsePlacement(key, value));
    } else if (key == "spread") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint64_t zones, Number(key, value, 1, kSpreadMax));
      options.spread = static_cast<std::uint32_t>(zones);
    } else if (key == "reclaim") {
      ZENFS_ASSIGN_OR_RETURN(options.reclaim, Flag(key, value));
    } else if (key == "device_copy") {
      ZENFS_ASSIGN_OR_RETURN(options.device_copy, Flag(key, value));
    } else if (key == "space_wait_s") {
      ZENFS_ASSIGN_OR_RETURN(const std::uint64_t seconds, Number(key, value, 0, kSpaceWaitMax));
      options.space_wait = std::chrono::seconds(seconds);
    } else if (key == "flush_dir") {
      ZENFS_ASSIGN_OR_RETURN(options.flush_directory, ParseDirectory(key, value));
    } else if (key == "metrics_file") {
      ZENFS_ASSIGN_OR_RETURN(options.metrics_file, File(key, value));
    } else if (key == "trace_file") {
      ZENFS_ASSIGN_OR_RETURN(options.trace_file, File(key, value));
    } else if (key == "aux_path") {
      ZENFS_ASSIGN_OR_RETURN(options.aux_path, File(key, value));
    } else if (key == "discard_unsynced") {
      ZENFS_ASSIGN_OR_RETURN(options.discard_unsynced, Flag(key, value));
    } else {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("unknown option \"{}\"; the options are ro, buffer_kib:N, wal_buffer_kib:N, "
                      "wal:auto|append|write|blocking, wal_depth:N, sync_blocks:0, placement:NAME, spread:N, "
                      "reclaim:0, "
                      "device_copy:0, space_wait_s:N, flush_dir:PATH, metrics_file:PATH, trace_file:PATH, "
                      "aux_path:PATH and discard_unsynced{}{}",
                      key, others.empty() ? "" : "; ", others));
    }
  }
  return options;
}

}  // namespace zenfs
