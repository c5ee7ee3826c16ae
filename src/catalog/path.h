// Paths as strings: normalised, taken apart. No state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zenfs {

// "/a//b/./c/../d/" -> "a/b/d". Never fails; an empty result is the root. ".." above the root stays there.
[[nodiscard]] std::string NormalizePath(std::string_view path);

// The components of a path, normalised; views into `path`.
[[nodiscard]] std::vector<std::string_view> SplitPath(std::string_view path);

}  // namespace zenfs
