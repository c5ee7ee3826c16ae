// The contents of a mounted volume, or of one of its directories.
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

// Everything under `root`, and `root` itself unless it is "". Reads every file. `grows`: a writer may append to files meanwhile.
[[nodiscard]] Result<FoundTree> Find(Volume& volume, const std::string& root = "", bool grows = false);
[[nodiscard]] Result<std::string> ReadWhole(Volume& volume, const std::string& path);

// A short description of how two trees differ; empty if they are equal.
[[nodiscard]] std::string Difference(const FoundTree& expected, const FoundTree& found);

// Describes two contents for a message, such as "120 bytes".
[[nodiscard]] std::string DescribeMismatch(const std::string& expected, const std::string& found);

}  // namespace zenfs
