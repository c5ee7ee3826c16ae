#include "backup/lifetime_hints.h"

#include <fmt/format.h>

#include <charconv>

#include "catalog/path.h"

namespace zenfs {

std::string LifetimeHintLine(std::string_view path, Lifetime lifetime) {
  if (path.find('\n') != std::string_view::npos) return "";
  return fmt::format("{}\t{}\n", path, static_cast<int>(lifetime));
}

LifetimeHints::LifetimeHints(const PathTree& paths, const std::vector<PathNode>& files, std::string into)
    : paths_(paths), into_(std::move(into)) {
  for (const PathNode file : files) by_name_.try_emplace(paths.NameOf(file));
}

void LifetimeHints::TakeLine(std::string_view line) {
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view number = line.substr(tab + 1);
  int value = -1;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return;
  if (value < 0 || value >= kLifetimeCount) return;
  Add(NormalizePath(line.substr(0, tab)), static_cast<Lifetime>(value));
}

void LifetimeHints::Add(std::string_view path, Lifetime lifetime) {
  const auto name = by_name_.find(path.substr(path.rfind('/') + 1));
  if (name == by_name_.end()) return;
  OfName& of_name = name->second;
  const bool differs = of_name.known && of_name.hint != lifetime;
  of_name = {.known = true, .hint = differs ? std::nullopt : std::optional(lifetime)};
  if (const auto node = paths_.Find(path)) by_path_[*node] = lifetime;
  std::string_view below = path;
  if (!into_.empty()) {
    if (!path.starts_with(into_) || path.size() <= into_.size() || path[into_.size()] != '/') return;
    below = path.substr(into_.size() + 1);
  }
  if (const auto node = paths_.Find(below)) by_volume_path_[*node] = lifetime;
}

std::optional<Lifetime> LifetimeHints::Find(PathNode file) const {
  if (const auto it = by_volume_path_.find(file); it != by_volume_path_.end()) return it->second;
  if (const auto it = by_path_.find(file); it != by_path_.end()) return it->second;
  const auto it = by_name_.find(paths_.NameOf(file));
  return it == by_name_.end() ? std::nullopt : it->second.hint;
}

}  // namespace zenfs
