// Everything that is on a mounted volume, or under one of its directories.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

struct FoundEntry {
  bool is_directory = false;
  std::uint64_t id = 0;
  FileShape shape = FileShape::kPlain;
  std::string content;

  friend bool operator==(const FoundEntry&, const FoundEntry&) = default;
};
using FoundTree = std::map<std::string, FoundEntry>;  // by path, without a leading slash

// What is under `root`, which itself is an entry unless it is "". Reads every file.
[[nodiscard]] Result<FoundTree> Find(Volume& volume, const std::string& root = "");
[[nodiscard]] Result<std::string> ReadWhole(Volume& volume, const std::string& path);

// Where two trees differ, in a few words; empty if they don't.
[[nodiscard]] std::string Difference(const FoundTree& expected, const FoundTree& found);

// "120 bytes" and the like, for messages.
[[nodiscard]] std::string DescribeMismatch(const std::string& expected, const std::string& found);

}  // namespace zenfs
