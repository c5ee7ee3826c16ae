// How to call a file or directory in a sentence for a person: by its number and its paths.
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
  // Of a tree that may be none: `find` is null for what is no directory.
  explicit FileNames(const std::function<const Directory*(FileId)>& find);

  // The first path in the order of the alphabet, "/db/000012.sst"; empty for what has no name.
  std::string PathOf(FileId id) const;
  // All of its paths, in that order.
  std::vector<std::string> PathsOf(FileId id) const;
  // "file 12 (/db/000012.sst)", "file 12 (/a, /b)", "file 12 (no name)"
  std::string Describe(FileId id) const;

 private:
  std::multimap<FileId, std::string> paths_;
};

}  // namespace zenfs
