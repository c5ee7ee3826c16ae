// The names of all files of a volume, the other way round: from a file to its paths.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "model/state.h"

namespace zenfs {

class FilePaths {
 public:
  explicit FilePaths(const State& state);

  // From the root, with a leading '/', sorted. Empty for a file that is not there.
  const std::vector<std::string>& Of(FileId id) const;
  // For a sentence: `file 12 (/db/000012.sst, /copy/000012.sst)`.
  std::string Describe(FileId id) const;

 private:
  std::unordered_map<FileId, std::vector<std::string>> paths_;
};

}  // namespace zenfs
