// What a mount can be asked for, from `key:value` pairs behind the `?` of a URI or from the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace zenfs {

struct MountOptions {
  bool read_only = false;                      // key `ro`
  std::uint64_t plain_buffer_bytes = 1 << 20;  // key `buffer_kib`: per plain file being written
  // Key `flush_dir`: directory on a tmpfs for append buffers that survive the process; "auto": DefaultSharedMemory-
  // Directory; "none": Flush writes to the device.
  std::string flush_directory = "auto";
  // How many files may have such a buffer at a time, 256 KiB each; the others' flushes write to the device. No key: enough
  // for any database, and fewer where volumes are mounted by the thousand.
  std::uint32_t append_buffers = 32;
  // Key `discard_unsynced`: mount although the append buffers of a mount that died can't be read, without what was
  // flushed and not synced then.
  bool discard_unsynced = false;
  // Key `metrics_file`: a file of the host that holds the counters of this mount when it has ended; empty: none.
  std::string metrics_file;
  // Key `aux_path`: the caller's consent that RocksDB's LOG and LOCK are kept in this directory of the host, if the superblock
  // names it (volume/aux_marker.h). The mount itself has no use for it.
  std::string aux_path;
  std::chrono::seconds space_wait{30};  // key `space_wait_s`: how long a write waits for a zone

  friend bool operator==(const MountOptions&, const MountOptions&) = default;
};

// Errors: kInvalidArgument naming the unknown key or the bad value, and listing the keys there are.
[[nodiscard]] Result<MountOptions> ParseMountOptions(
    const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace zenfs
