#include "catalog/path.h"

namespace zenfs {

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return parts;
}

std::string NormalizePath(std::string_view path) {
  std::string normal;
  for (const std::string_view part : SplitPath(path)) {
    if (!normal.empty()) normal.push_back('/');
    normal.append(part);
  }
  return normal;
}

}  // namespace zenfs
