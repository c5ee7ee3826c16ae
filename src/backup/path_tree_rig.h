// Shared by tests that have paths as text.
#pragma once

#include <string_view>

#include "backup/path_tree.h"

namespace zenfs {

// Adds `path` and the directories above it.
inline PathNode AddPath(PathTree& paths, std::string_view path) {
  PathNode at = kTopNode;
  for (;;) {
    const std::size_t slash = path.find('/');
    at = paths.Add(at, path.substr(0, slash));
    if (slash == std::string_view::npos) return at;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace zenfs
