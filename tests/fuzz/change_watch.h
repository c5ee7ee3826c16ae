// Tells what was changed in directories, by inotify(7): for one system call instead of a walk.
//
// Changes are writes, truncations, new modes, owners and names. A watched file is also watched for changes that are
// made through another name. Reads are no changes, and writes to mapped memory are not seen.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/unique_fd.h"

namespace zenfs {

class ChangeWatch {
 public:
  ChangeWatch();

  // Also watches `path`: a file, or a directory and its entries without what is below them. Take calls it `name`.
  void Add(const std::string& path, const std::string& name);
  // The names of everything changed since the last call; an entry of a directory is "NAME/ENTRY", and "ENTRY" if NAME
  // is empty. Nothing if the host can't tell.
  [[nodiscard]] std::optional<std::set<std::string>> Take();

 private:
  const UniqueFd fd_;
  std::map<int, std::string> names_;  // by watch
  bool complete_ = true;              // everything is watched
};

}  // namespace zenfs
