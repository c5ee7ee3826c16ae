// `write_lifetime_hints.dat`: the lifetimes of a backup's files, as the older ZenFS stores them.
// One line per file: its path in the volume, a tab, the hint as RocksDB's number
// (model/lifetime.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backup/path_tree.h"
#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kHintsFile = "write_lifetime_hints.dat";

// Nothing for a path with a line end, which such a line can't represent.
[[nodiscard]] std::string LifetimeHintLine(std::string_view path, Lifetime lifetime);

// The hints for the files of a restore. Keeps only those that one of them needs, so their number bounds the memory.
class LifetimeHints {
 public:
  // For the files `files` of `paths`, which are restored below the directory `into` of the volume (normalised). `paths` must outlive
  // the object.
  LifetimeHints(const PathTree& paths, const std::vector<PathNode>& files, std::string into);

  // `line` is without its line feed. Ignores it if it has no tab, or a number that is not a lifetime.
  void TakeLine(std::string_view line);

  // The hint of the file's path in the volume, or else of its path below the backup's directory. Otherwise that of the files with
  // the same last component, if they all have the same.
  std::optional<Lifetime> Find(PathNode file) const;

 private:
  struct OfName {
    bool known = false;
    std::optional<Lifetime> hint;  // nothing: the files of this name have different ones
  };

  void Add(std::string_view path, Lifetime lifetime);

  const PathTree& paths_;
  const std::string into_;
  std::map<PathNode, Lifetime> by_volume_path_;
  std::map<PathNode, Lifetime> by_path_;        // below the backup's directory
  std::map<std::string_view, OfName> by_name_;  // the last components of all files
};

}  // namespace zenfs
