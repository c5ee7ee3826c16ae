// `write_lifetime_hints.dat`: the lifetimes of a backup's files, as the older ZenFS stores them.
// One line per file: its path in the volume, a tab, the hint as RocksDB's number
// (model/lifetime.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kHintsFile = "write_lifetime_hints.dat";

class LifetimeHints {
 public:
  // Ignores lines without a tab, or with a number that is not a lifetime.
  static LifetimeHints Parse(std::string_view text);
  void TakeLine(std::string_view line);  // without its line feed

  // From now on takes only hints that Find needs for a file with one of these normalised paths as `destination` or `relative`.
  // So the number of these files bounds the memory. The characters of `paths` must outlive the object.
  void KeepOnlyFor(std::vector<std::string_view> paths);

  // Leaves out a name with a line end, which this file cannot represent.
  void Add(std::string_view path, Lifetime lifetime);
  std::string Text() const;

  // The hint for the file that a restore puts at `destination` (a path in the volume) from
  // `relative` (its path below the backup's directory): the first of the two with a known hint.
  // Otherwise the hint of the files with the same last component, if they all have the same.
  std::optional<Lifetime> Find(std::string_view destination, std::string_view relative) const;
  bool empty() const { return by_path_.empty(); }

 private:
  struct Needed {  // sorted
    std::vector<std::string_view> paths;
    std::vector<std::string_view> names;  // last components
  };

  std::optional<Needed> needed_;
  std::map<std::string, Lifetime, std::less<>> by_path_;                 // normalised paths
  std::map<std::string, std::optional<Lifetime>, std::less<>> by_name_;  // nothing: their hints differ
};

}  // namespace zenfs
