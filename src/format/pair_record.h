// What the second of two devices holds of the key of the pair. The main device has the same key in its metadata log
// (SetPairKey in model/edit.h). Each read-write mount sets a new one on both:
//
//   1. an offered record with the new key, durable on the second device
//   2. the commit of the key on the main device
//   3. a settled record with the key, durable on the second device
//
// So the devices belong together if the key on the main one is that of the newest record, or the previous key of a newest
// record that is offered. docs/formats/superblock.md has the layout and the argument.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/uuid.h"

namespace zenfs {

inline constexpr std::size_t kPairRecordBytes = 1024;
inline constexpr std::size_t kPairIdentityBytesMax = 255;

struct PairRecord {
  std::uint64_t epoch = 0;     // of the mount that wrote it; 0: mkfs
  std::uint64_t sequence = 0;  // of two records of an epoch the later one has the higher number
  bool offered = false;        // written before the commit of `key`
  Uuid key{};                  // not nil
  Uuid previous{};             // key on the main device before that commit; nil: none
  // Where the mount found the devices, to tell a copy from its original: the boot of the host (buffers/buffer_area_place.h) and
  // ZonedDevice::identity of each device. Empty: unknown.
  std::string boot{};
  std::string main_identity{};
  std::string logs_identity{};

  friend bool operator==(const PairRecord&, const PairRecord&) = default;
};

// True if `a` was written after `b`.
[[nodiscard]] bool IsNewer(const PairRecord& a, const PairRecord& b);

// Returns kPairRecordBytes bytes. `volume`: the superblock's seed. A text that is longer than kPairIdentityBytesMax becomes empty.
[[nodiscard]] std::string EncodePairRecord(const PairRecord& record, const Uuid& volume);
// Takes any bytes. Nothing if they do not begin with a record of `volume`.
[[nodiscard]] std::optional<PairRecord> DecodePairRecord(ByteView bytes, const Uuid& volume);

}  // namespace zenfs
