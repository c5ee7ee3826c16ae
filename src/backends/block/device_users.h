// Describes who uses a block device, for the error message of an open that fails.
#pragma once

#include <string>

#include "backends/host/block_facts.h"

namespace zenfs {

// "mounted at /mnt", "part of dm-0", "open in process 1234 (db_bench)", or "" if the kernel shows
// none of it (a process of another user, another namespace). Tests pass a directory as `root`,
// which replaces / in the path of /proc.
[[nodiscard]] std::string DescribeDeviceUsers(const BlockFacts& facts, const std::string& root = "");

}  // namespace zenfs
