#include "volume/file_paths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace zenfs {

FilePaths::FilePaths(const State& state) {
  std::vector<std::pair<const Directory*, std::string>> pending{{state.FindDirectory(kRootDirectory), "/"}};
  while (!pending.empty()) {
    const auto [directory, path] = std::move(pending.back());
    pending.pop_back();
    for (const auto& [name, id] : directory->entries) {
      if (const Directory* child = state.FindDirectory(id)) {
        pending.emplace_back(child, path + name + "/");
      } else {
        paths_[id].push_back(path + name);
      }
    }
  }
  for (auto& [id, paths] : paths_) std::ranges::sort(paths);
}

const std::vector<std::string>& FilePaths::Of(FileId id) const {
  static const std::vector<std::string> none;
  const auto it = paths_.find(id);
  return it == paths_.end() ? none : it->second;
}

std::string FilePaths::Describe(FileId id) const {
  return fmt::format("file {} ({})", id.value, fmt::join(Of(id), ", "));
}

}  // namespace zenfs
