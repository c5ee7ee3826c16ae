// The records of the key of a pair (format/pair_record.h) on the second of two devices. They are in its metadata zones, behind
// the copy of the superblock. Each record goes to both zones, so one zone may be lost.
//
//   zone := superblock, record*         each in whole blocks; at most kPairRecordsPerZone records; a power loss may leave
//                                       blocks of an unfinished record between two
//
// A zone without room is reset and begun again, durably, before the other one is. So at each moment a zone holds the superblock
// and the newest durable record.
//
// Threads: functions on values, no state. The writer has the device open exclusively.
#pragma once

#include <optional>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/pair_record.h"
#include "format/superblock.h"

namespace zenfs {

// Bounds what a mount reads.
inline constexpr std::uint64_t kPairRecordsPerZone = 64;

// The newest record on the single device `logs`, whose superblock is `superblock`; nothing if no zone has one that is valid and
// readable. Errors: those of a report.
[[nodiscard]] Result<std::optional<PairRecord>> ReadPairRecord(ZonedDevice& logs,
                                                               const Superblock& superblock);

// Writes `record`, with the next sequence number, and flushes the device. If it limits active zones and other zones have all
// slots, as an earlier version may leave them, finishes one of these. Errors: those of the device, if no zone took the record; kIo
// if there must be an earlier record and none can be read.
[[nodiscard]] Status WritePairRecord(ZonedDevice& logs, const Superblock& superblock, PairRecord record);

}  // namespace zenfs
