#include "metrics/metric.h"

namespace zenfs {
namespace {

constexpr bool kBytes = true;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;  // in a second

// In the order of the enumerations. docs/use/metrics.md has a row for each entry.
constexpr OperationInfo kOperations[] = {
    {"wal_write", "Appends to framed files (WAL, MANIFEST, info log)", kBytes},
    {"non_wal_write", "Appends to plain files (SST, blob)", kBytes},
    {"wal_flush", "Flushes of framed files"},
    {"wal_sync", "Syncs of framed files"},
    {"non_wal_sync", "Syncs of plain files, and flushes that had to be one"},
    {"read", "Reads of files", kBytes},
    {"open", "Files opened that were there"},
    {"create", "Files created"},
    {"close", "Files closed that were open for writing"},
    {"delete", "Names of files removed"},
    {"rename", "Files and directories renamed"},
    {"link", "Files linked"},
    {"directory_change", "Directories made and removed"},
    {"directory_sync", "Directories synced"},
    {"meta_sync", "Commits to the metadata log, each until it is durable"},
    {"roll", "Switches of the metadata log to the next zone"},
    {"device_read", "Reads of the device", kBytes},
    {"cached_read", "Reads through the host's page cache, whether it held the bytes or not", kBytes},
    {"zone_write", "Writes to zones at the write pointer", kBytes},
    {"zone_append", "Zone appends", kBytes},
    {"device_flush", "Flushes of the device's write cache"},
    {"zone_reset", "Zones reset"},
    {"zone_finish", "Zones finished"},
};
static_assert(std::size(kOperations) == kOperationCount);
static_assert(static_cast<std::size_t>(Operation::kZoneFinish) + 1 == kOperationCount);

constexpr ValueInfo kValues[] = {
    {"data_bytes_total", "bytes", "Data of plain files written to the device, with padding", true},
    {"data_padding_bytes_total", "bytes", "Of these, padding behind the end of a file", true},
    {"wal_bytes_total", "bytes", "Payload of frames written to the device", true},
    {"wal_padding_bytes_total", "bytes", "Headers and padding of frames written to the device", true},
    {"metadata_bytes_total", "bytes", "Metadata log written to the device, with padding and snapshots", true},
    {"folded_bytes_total", "bytes", "Log data written again as extents to free a log zone", true},
    {"reclaimed_bytes_total", "bytes", "Data of files moved together to free a zone", true},
    {"finished_bytes_total", "bytes", "Room that was left in zones when they were finished", true},
    {"wal_reserve_waits_total", "", "Syncs that had to wait for a log zone", true},
    {"wal_frames_met_total", "", "Frames that came while another one was on its way", true},
    {"wal_send_changes_total", "", "Changes between writes and zone appends of frames", true},
    {"wal_sync_blocks_total", "", "Writes of blocks that small syncs rewrite, in a random write area", true},
    {"meta_frames_total", "", "Device writes that carried metadata commits", true},
    {"read_retries_total", "", "Reads of the device that were sent again after an error", true},
    {"emulation_cpu_seconds_total", "seconds", "CPU time spent on emulating the device", true, kNanoseconds},
    {"wal_appends", "", "1: frames are sent by zone append; 0: by writes"},
    {"frame_write_seconds", "seconds",
     "Time of a frame by writes, from its arrival to the reply; 0: not measured", false, kNanoseconds},
    {"frame_append_seconds", "seconds", "The same by zone appends; 0: not tried", false, kNanoseconds},
    {"open_files", "", "Handles of files that are open"},
    {"epoch", "", "Mount epoch: how often the volume has been mounted for writing"},
    {"mount_time_seconds", "seconds", "When the volume was mounted, since 1970-01-01 UTC"},
    {"metadata_copies", "",
     "Zones that hold each byte of the metadata: 2, or 1 on a small device or after losses"},
};
static_assert(std::size(kValues) == kValueCount);
static_assert(static_cast<std::size_t>(Value::kMetadataCopies) + 1 == kValueCount);

}  // namespace

std::span<const OperationInfo, kOperationCount> Operations() { return kOperations; }
std::span<const ValueInfo, kValueCount> Values() { return kValues; }

}  // namespace zenfs
