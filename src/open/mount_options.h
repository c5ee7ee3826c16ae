// The options of a mount, from `key:value` pairs after the `?` of a URI or from the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wal/zone_append.h"
#include "zone/placement.h"

namespace zenfs {

struct MountOptions {
  bool read_only = false;                      // key `ro`
  std::uint64_t plain_buffer_bytes = 1 << 20;  // key `buffer_kib`: per plain file that is being written
  // Key `wal_buffer_kib`: each of the two buffers of a framed file (WAL, MANIFEST, info log). None:
  // WalBufferBytes chooses.
  std::optional<std::uint64_t> wal_buffer_bytes;
  // Key `wal`: how framed files are sent (wal/zone_append.h). "blocking" is the way of the older ZenFS: a buffer is sent only
  // when it is full or synced, on the thread that filled it.
  WalSending wal = WalSending::kAuto;
  std::uint32_t wal_depth = 16;  // key `wal_depth`: most zone appends of framed files in flight
  // Key `sync_blocks`: on a device with zone random write areas, small syncs rewrite blocks there (wal/zrwa_sync_blocks.h).
  bool sync_blocks = true;
  // Key `flush_dir`: the directory on a tmpfs for append buffers, which survive the process. "auto":
  // DefaultSharedMemoryDirectory. "none": each flush is a write to the device.
  std::string flush_directory = "auto";
  // The number of append buffers, of WalBufferBytes each. A flush of a file without one is a write to the device. It has no key:
  // the default suffices for any database, and programs that mount thousands of volumes set fewer.
  std::uint32_t append_buffers = 32;
  // Key `discard_unsynced`: discard the bytes that a dead mount flushed and did not sync. So a volume can be mounted although
  // the append buffers of that mount can't be read.
  bool discard_unsynced = false;
  // Key `metrics_file`: a file of the host that keeps the counters of this mount after its end; empty: none.
  std::string metrics_file;
  // Key `trace_file`: a file of the host that records which files are created and deleted and how they grow
  // (open/trace_recorder.h); empty: none.
  std::string trace_file;
  // Key `aux_path`: the caller's consent to keep RocksDB's LOG and LOCK in this directory of the host, if the superblock
  // names it (volume/aux_directory/aux_directory.h). The mount itself does not use it.
  std::string aux_path;
  const PlacementPolicy* placement = DefaultPlacement();  // key `placement` (zone/placement.h)
  // Key `spread`: over how many zones the data of a file is spread (zone/spread.h). 0: DefaultSpread.
  std::uint32_t spread = 0;
  // Key `reclaim`: false: no zone is ever emptied, so a zone with one live byte stays in use. For comparisons.
  bool reclaim = true;
  // Key `device_copy`: false: reclaim reads and writes even if the device copies by itself.
  bool device_copy = true;
  std::chrono::seconds space_wait{30};  // key `space_wait_s`: the longest wait of a write for a zone

  friend bool operator==(const MountOptions&, const MountOptions&) = default;
};

// The size of a framed file's buffer if log zones have a capacity of `zone_capacity` bytes. The default is a part of a zone, so
// that the buffers of a few logs are no load on a device of small zones.
[[nodiscard]] std::uint64_t WalBufferBytes(const MountOptions& options, std::uint64_t zone_capacity);

// Errors: kInvalidArgument, which names the unknown key or the bad value and lists all keys. `others`: for that message, the
// options that somebody else takes, such as those of the device.
[[nodiscard]] Result<MountOptions> ParseMountOptions(
    const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view others = {});

}  // namespace zenfs
