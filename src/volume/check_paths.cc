#include "volume/check_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"

namespace zenfs {
namespace {

constexpr std::size_t kLongPathsNamed = 3;
constexpr std::size_t kPathStartBytes = 60;

// "/a/b/c...": the first bytes of the path of a name in `directory`. The path is longer than that.
std::string StartOfPath(const State& state, FileId directory, std::string_view name) {
  std::vector<std::string_view> names{name};
  while (directory != kRootDirectory) {
    const Directory& at = *state.FindDirectory(directory);
    names.push_back(at.name);
    directory = at.parent;
  }
  std::string path;
  for (; path.size() < kPathStartBytes; names.pop_back()) path.append("/").append(names.back());
  return path.substr(0, kPathStartBytes) + "...";
}

}  // namespace

void CheckPaths(CheckContext& context) {
  const State& state = context.state;
  std::uint64_t count = 0;
  std::size_t longest = 0;
  std::size_t named = 0;
  std::string starts;
  std::vector<std::pair<FileId, std::size_t>> pending{{kRootDirectory, 0}};  // with the bytes of the path
  while (!pending.empty()) {
    const auto [directory, bytes] = pending.back();
    pending.pop_back();
    for (const auto& [name, id] : state.FindDirectory(directory)->entries) {
      const std::size_t path = bytes + (bytes == 0 ? 0 : 1) + name.size();
      if (state.FindDirectory(id) != nullptr) pending.emplace_back(id, path);
      if (path <= kMaxPathBytes) continue;
      ++count;
      longest = std::max(longest, path);
      if (bytes > kMaxPathBytes || named == kLongPathsNamed)
        continue;  // what is below a named one goes unnamed
      starts += (named++ == 0 ? "" : ", ") + StartOfPath(state, directory, name);
    }
  }
  if (count == 0) return;
  context.Add(
      Severity::kWarning,
      fmt::format(
          "{} a path of more than {} bytes, the longest has {}: {}; list, dump and backup leave them out "
          "unless they begin at a directory on the way; zenfs rename can move it up",
          count == 1 ? "1 name has" : fmt::format("{} have", Counted(count, "name")), kMaxPathBytes, longest,
          starts));
}

}  // namespace zenfs
