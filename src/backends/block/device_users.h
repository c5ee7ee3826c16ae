// Who uses a block device, for the message to the one who can't have it.
#pragma once

#include <string>

#include "backends/host/block_facts.h"

namespace zenfs {

// "mounted at /mnt", "part of dm-0", "open in process 1234 (db_bench)", or "" where the kernel shows none of it (another
// user's process, another namespace). `root` stands before /proc in tests.
[[nodiscard]] std::string DescribeDeviceUsers(const BlockFacts& facts, const std::string& root = "");

}  // namespace zenfs
