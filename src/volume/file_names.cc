#include "volume/file_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <set>

namespace zenfs {

FileNames::FileNames(const State& state) : FileNames([&](FileId id) { return state.FindDirectory(id); }) {}

FileNames::FileNames(const std::function<const Directory*(FileId)>& find) {
  std::set<FileId> visited{kRootDirectory};  // damaged metadata may contain a cycle
  std::deque<std::pair<FileId, std::string>> pending{{kRootDirectory, ""}};
  for (; !pending.empty(); pending.pop_front()) {
    const auto [id, path] = pending.front();
    const Directory* directory = find(id);
    if (directory == nullptr) continue;
    for (const auto& [name, entry] : directory->entries) {
      const std::string full = fmt::format("{}/{}", path, name);
      paths_.emplace(entry, full);
      if (find(entry) != nullptr && visited.insert(entry).second) pending.emplace_back(entry, full);
    }
  }
}

std::vector<std::string> FileNames::PathsOf(FileId id) const {
  const auto [first, last] = paths_.equal_range(id);
  std::vector<std::string> paths;
  for (auto it = first; it != last; ++it) paths.push_back(it->second);
  std::ranges::sort(paths);
  return paths;
}

std::string FileNames::PathOf(FileId id) const {
  const std::vector<std::string> paths = PathsOf(id);
  return paths.empty() ? "" : paths.front();
}

std::string FileNames::Describe(FileId id) const {
  std::vector<std::string> paths = PathsOf(id);
  if (paths.empty()) paths.push_back("no name");
  return fmt::format("file {} ({})", id.value, fmt::join(paths, ", "));
}

}  // namespace zenfs
