// Normalises and splits paths. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zenfs {

// "/a//b/./c/../d/" -> "a/b/d". An empty result is the root. ".." at the root is the root.
[[nodiscard]] std::string NormalizePath(std::string_view path);

// Returns the components of the normalised path, as views into `path`.
[[nodiscard]] std::vector<std::string_view> SplitPath(std::string_view path);

}  // namespace zenfs
