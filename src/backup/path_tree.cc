#include "backup/path_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "catalog/path.h"
#include "model/edit.h"

namespace zenfs {

PathNode PathTree::Add(PathNode directory, std::string_view name) {
  if (const auto existing = Find(directory, name)) return *existing;
  ZENFS_ASSERT(names_.size() <= std::numeric_limits<std::uint32_t>::max());
  const PathNode node(static_cast<std::uint32_t>(names_.size()));
  names_.push_back(nullptr);
  names_.back() = &nodes_.emplace(Name{directory, std::string(name)}, node).first->first;
  return node;
}

std::optional<PathNode> PathTree::Find(PathNode directory, std::string_view name) const {
  const auto it = nodes_.find(Key(directory, name));
  return it == nodes_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<PathNode> PathTree::Find(std::string_view path) const {
  PathNode at = kTopNode;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const auto next = Find(at, path.substr(0, end));
    if (!next) return std::nullopt;
    at = *next;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

std::string PathTree::PathBelow(std::string_view top, PathNode node) const {
  std::size_t size = 0;
  for (PathNode at = node; at != kTopNode; at = DirectoryOf(at)) size += NameOf(at).size() + 1;
  if (size == 0) return std::string(top);
  std::string below(size - 1, '/');
  for (PathNode at = node; at != kTopNode; at = DirectoryOf(at)) {
    const std::string& name = NameOf(at);
    size -= name.size() + 1;
    std::ranges::copy(name, below.begin() + static_cast<std::ptrdiff_t>(size));
  }
  return JoinPath(top, below);
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  const bool slash = directory.empty() || directory.ends_with('/');
  return fmt::format("{}{}{}", directory, slash ? "" : "/", name);
}

Status CheckPathLimits(std::string_view path) {
  if (path.size() > kMaxPathBytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("its path has {} bytes; the limit is {}", path.size(), kMaxPathBytes));
  }
  for (const std::string_view part : SplitPath(path)) {
    if (part.size() <= kMaxNameBytes) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("a name in its path has {} bytes; the limit is {}", part.size(), kMaxNameBytes));
  }
  return {};
}

}  // namespace zenfs
