// `write_lifetime_hints.dat`: the lifetimes of a backup's files, as the older ZenFS keeps them. One line a
// file: its path in the volume, a tab, the hint as RocksDB's number (model/lifetime.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kHintsFile = "write_lifetime_hints.dat";

class LifetimeHints {
 public:
  // Takes what can be understood: lines without a tab or with a number that is no lifetime are passed over.
  static LifetimeHints Parse(std::string_view text);
  void TakeLine(std::string_view line);  // without its line feed

  // A name with a line end can't be said in this file and is left out.
  void Add(std::string_view path, Lifetime lifetime);
  std::string Text() const;

  // For the file that a restore puts at `destination` (a path in the volume) from `relative` (its path below the
  // backup's directory): the hint of the first of these that is known, else that of the files of the same last
  // component, if they all have the same.
  std::optional<Lifetime> Find(std::string_view destination, std::string_view relative) const;
  bool empty() const { return by_path_.empty(); }

 private:
  std::map<std::string, Lifetime, std::less<>> by_path_;                 // normalised paths
  std::map<std::string, std::optional<Lifetime>, std::less<>> by_name_;  // nothing: they differ
};

}  // namespace zenfs
