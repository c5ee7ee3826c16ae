// The order of the project's mutexes, as in the table of docs/internals/architecture.md ("Lock order"), from the top. That
// page says what each lock guards. Change both together.
//
// A thread may lock a mutex only if its rank is above those of all ranked mutexes that the thread holds. Builds with
// assertions check this (base/lock_order.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace zenfs {

enum class LockRank : std::uint8_t {
  kMappedFile,
  kMountSlot,
  kPlainFile,
  kCounters,
  kCatalog,
  kOpenFiles,
  kFramedFiles,
  kLogSpace,
  kLiveState,
  kMetalog,
  kVolumeLeaf,   // the leaf locks of a volume; the device may be called while they are held
  kDeviceZone,   // state of one zone, or of the opening and closing of zones
  kDeviceState,  // state of all zones
  kDevicePool,   // idle rings or descriptors
  kLeaf,         // no other lock is taken while this is held
  kUnranked,     // not in the table, not checked
};

[[nodiscard]] std::string_view LockRankName(LockRank rank);

}  // namespace zenfs
