// Names of files and directories for messages: the number and the paths.
//
// Threads: a plain value.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/state.h"

namespace zenfs {

class FileNames {
 public:
  explicit FileNames(const State& state);
  // For directories that may not form a tree. `find` returns null for an id that is not a directory.
  explicit FileNames(const std::function<const Directory*(FileId)>& find);

  // The first path in alphabetical order, "/db/000012.sst"; empty if there is none.
  std::string PathOf(FileId id) const;
  // All paths, in alphabetical order.
  std::vector<std::string> PathsOf(FileId id) const;
  // "file 12 (/db/000012.sst)", "file 12 (/a, /b)", "file 12 (no name)"
  std::string Describe(FileId id) const;

 private:
  std::multimap<FileId, std::string> paths_;
};

}  // namespace zenfs
