// The metrics: closed lists of operations and values, with their names. The metrics page, `zenfs
// stats`, the exporter and docs/use/metrics.md all use these tables.
//
// Names are shown with the prefix zenfs_. wal_write, non_wal_write, wal_sync, non_wal_sync, read,
// zone_write, meta_sync and roll have the names that the older ZenFS gave to the same things.
// Prometheus gets base units: bytes and seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zenfs {

// A repeated operation, counted with its errors, bytes and latency.
enum class Operation : std::uint8_t {
  kWalWrite,
  kNonWalWrite,
  kWalFlush,
  kWalSync,
  kNonWalSync,
  kRead,
  kOpen,
  kCreate,
  kClose,
  kDelete,
  kRename,
  kLink,
  kDirectoryChange,
  kDirectorySync,
  kMetaSync,
  kLogSwitch,
  kDeviceRead,
  kCachedRead,
  kZoneWrite,
  kZoneAppend,
  kDeviceFlush,
  kZoneReset,
  kZoneFinish,
};
inline constexpr std::size_t kOperationCount = 23;

struct OperationInfo {
  std::string_view name;  // NAME_total, NAME_errors_total, NAME_bytes_total, NAME_latency_seconds
  std::string_view help;
  bool has_bytes = false;
};

// True for operations so short and frequent that reading the clock costs too much: counted always,
// timed once in kTimedOneIn.
[[nodiscard]] constexpr bool IsSampled(Operation operation) {
  return operation == Operation::kWalWrite || operation == Operation::kWalFlush ||
         operation == Operation::kCachedRead;
}
inline constexpr std::uint64_t kTimedOneIn = 64;

// A number that is set, or added to, in one place.
enum class Value : std::uint8_t {
  kDataBytes,
  kDataPaddingBytes,
  kWalBytes,
  kWalPaddingBytes,
  kMetadataBytes,
  kCleanedBytes,
  kReclaimedBytes,
  kFinishedBytes,
  kWalReserveWaits,
  kWalFramesMet,
  kWalChoices,
  kWalSyncBlocks,
  kMetaFrames,
  kReadRetries,
  kEmulationCpu,
  kWalAppends,
  kFrameWriteTime,
  kFrameAppendTime,
  kOpenFiles,
  kEpoch,
  kMountTime,
  kMetadataCopies,
};
inline constexpr std::size_t kValueCount = 22;

struct ValueInfo {
  std::string_view name;
  std::string_view unit;  // "bytes" or "seconds"; empty for a plain count
  std::string_view help;
  bool counter = false;        // never decreases during a mount; otherwise a gauge
  std::uint64_t per_unit = 1;  // how much of the stored number makes one unit
};

[[nodiscard]] std::span<const OperationInfo, kOperationCount> Operations();
[[nodiscard]] std::span<const ValueInfo, kValueCount> Values();

[[nodiscard]] inline const OperationInfo& InfoOf(Operation operation) {
  return Operations()[static_cast<std::size_t>(operation)];
}
[[nodiscard]] inline const ValueInfo& InfoOf(Value value) {
  return Values()[static_cast<std::size_t>(value)];
}

// The stored number, in the unit of the metric.
[[nodiscard]] constexpr double InUnit(const ValueInfo& info, std::uint64_t stored) {
  return static_cast<double>(stored) / static_cast<double>(info.per_unit);
}

}  // namespace zenfs
