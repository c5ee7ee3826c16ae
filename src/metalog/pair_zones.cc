#include "metalog/pair_zones.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"
#include "device/flush_mark.h"
#include "device/presence.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

struct PairLayout {
  explicit PairLayout(const Geometry& geometry)
      : records_at(RoundUp(kSuperblockBytes, geometry.block_size)),
        record_bytes(RoundUp(kPairRecordBytes, geometry.block_size)) {}

  std::uint64_t end() const { return records_at + kPairRecordsPerZone * record_bytes; }

  std::uint64_t records_at;    // bytes from the start of the zone
  std::uint64_t record_bytes;  // with padding
};

bool IsUsable(const ZoneInfo& zone) {
  return zone.condition != ZoneCondition::kOffline && zone.condition != ZoneCondition::kReadOnly;
}

// True if the next record can be written at the write pointer.
bool HasRoom(const ZoneInfo& zone, const PairLayout& layout) {
  return IsActive(zone.condition) && zone.WrittenBytes() >= layout.records_at &&
         zone.WrittenBytes() + layout.record_bytes <= std::min(zone.capacity, layout.end());
}

// Finishes the active zone of logs with the least room. False if there is none.
bool FreeSlot(ZonedDevice& logs, const Superblock& superblock) {
  Result<std::vector<ZoneInfo>> zones = ReportAll(logs);
  if (!zones) return false;
  std::erase_if(*zones, [&](const ZoneInfo& zone) {
    return !IsActive(zone.condition) || zone.id < superblock.first_log_zone;
  });
  const auto fullest = std::ranges::max_element(*zones, {}, &ZoneInfo::WrittenBytes);
  return fullest != zones->end() && logs.Finish(fullest->id).ok();
}

class PairWriter {
 public:
  PairWriter(ZonedDevice& logs, const Superblock& superblock, const PairRecord& record)
      : logs_(logs),
        superblock_(superblock),
        layout_(logs.geometry()),
        block_(layout_.records_at + layout_.record_bytes) {
    block_.Append(AsBytes(EncodeSuperblock(superblock)));
    block_.PadTo(logs.geometry().block_size);
    block_.Append(AsBytes(EncodePairRecord(record, superblock.seed)));
    block_.PadTo(logs.geometry().block_size);
  }

  Status Run() {
    std::vector<ZoneId> without_room;
    for (const ZoneId zone : superblock_.metadata_zones) {
      const Result<ZoneInfo> info = logs_.ReportZone(zone);
      if (!info) {
        Note(Fail(info.error()));
      } else if (!IsUsable(*info)) {
        Note(Fail(Code::kReadOnly, fmt::format("{}: zone {} is {}", logs_.name(), zone.value,
                                               ConditionName(info->condition))));
      } else if (!HasRoom(*info, layout_) || Append(*info) == Appended::kZoneIsFull) {
        without_room.push_back(zone);
      }
    }
    if (written_) ZENFS_RETURN_IF_ERROR(FlushDevice(logs_));
    bool first = true;
    for (const ZoneId zone : without_room) {
      // After a failed rewrite the other zone may have the only superblock.
      if (!first && !written_) break;
      first = false;
      Note(Rewrite(zone));
    }
    return written_ ? Status() : failed_;
  }

 private:
  enum class Appended { kYes, kZoneIsFull, kFailed };

  void Note(const Status& status) {
    written_ = written_ || status.ok();
    if (!status.ok()) failed_ = status;
  }

  Appended Append(const ZoneInfo& zone) {
    const Status written = Write(zone.start + zone.WrittenBytes(), layout_.records_at);
    Note(written);
    if (written.ok()) return Appended::kYes;
    return written.error().code() == Code::kZoneFull ? Appended::kZoneIsFull : Appended::kFailed;
  }
  // Again if the drive ended the zone early: else the old record would be lost in this zone, and no other be written.
  Status Rewrite(ZoneId zone) {
    const Status written = RewriteOnce(zone);
    return !written.ok() && written.error().code() == Code::kZoneFull ? RewriteOnce(zone) : written;
  }
  Status RewriteOnce(ZoneId zone) {
    ZENFS_RETURN_IF_ERROR(logs_.Reset(zone));
    ZENFS_RETURN_IF_ERROR(Write(logs_.geometry().ZoneStart(zone), 0));
    return FlushDevice(logs_);
  }
  // Writes block_ from byte `from` on.
  Status Write(DeviceOffset at, std::uint64_t from) {
    const ByteView bytes = block_.View(from, block_.size() - from);
    Status written = logs_.Write(at, bytes);
    if (written.ok() || written.error().code() != Code::kBusy || !FreeSlot(logs_, superblock_))
      return written;
    return logs_.Write(at, bytes);
  }

  ZonedDevice& logs_;
  const Superblock& superblock_;
  const PairLayout layout_;
  AlignedBuffer block_;  // the superblock, then the record
  bool written_ = false;
  Status failed_;
};

}  // namespace

Result<std::optional<PairRecord>> ReadPairRecord(ZonedDevice& logs, const Superblock& superblock) {
  const PairLayout layout(logs.geometry());
  std::optional<PairRecord> newest;
  for (const ZoneId zone : superblock.metadata_zones) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, logs.ReportZone(zone));
    const std::uint64_t end =
        RoundDown(std::min(info.WrittenBytes(), layout.end()), logs.geometry().block_size);
    ZoneReader reader(logs, zone, end);
    // At each block: a power loss may have left some blocks of a record, and the next one is behind them.
    const std::uint64_t block = logs.geometry().block_size;
    for (std::uint64_t at = layout.records_at; at + layout.record_bytes <= end; at += block) {
      std::optional<PairRecord> record =
          DecodePairRecord(reader.View(at, layout.record_bytes), superblock.seed);
      if (record && (!newest || IsNewer(*record, *newest))) newest = std::move(record);
    }
  }
  return newest;
}

Status WritePairRecord(ZonedDevice& logs, const Superblock& superblock, PairRecord record) {
  const PresenceMark mark = PresenceMark::Now(logs);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<PairRecord> newest, ReadPairRecord(logs, superblock));
  ZENFS_RETURN_IF_ERROR(mark.Check(logs));
  if (!newest && !record.previous.IsNil()) {
    // A record that begins with the first number again would be older than the one that cannot be read.
    return Fail(Code::kIo, fmt::format("{}: the record of the previous key cannot be read", logs.name()));
  }
  record.sequence = newest ? newest->sequence + 1 : 1;
  return PairWriter(logs, superblock, record).Run();
}

}  // namespace zenfs
