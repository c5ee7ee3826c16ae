#include "backup/lifetime_hints.h"

#include <algorithm>
#include <charconv>

#include "catalog/path.h"

namespace zenfs {
namespace {

// `path` is normalised.
std::string_view LastComponent(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

LifetimeHints LifetimeHints::Parse(std::string_view text) {
  LifetimeHints hints;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    hints.TakeLine(line);
  }
  return hints;
}

void LifetimeHints::TakeLine(std::string_view line) {
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view number = line.substr(tab + 1);
  int value = -1;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return;
  if (value < 0 || value >= kLifetimeCount) return;
  Add(line.substr(0, tab), static_cast<Lifetime>(value));
}

void LifetimeHints::Add(std::string_view path, Lifetime lifetime) {
  std::string normal = NormalizePath(path);
  if (normal.empty() || normal.find('\n') != std::string::npos) return;
  const std::string_view last = LastComponent(normal);
  if (needed_ && !std::ranges::binary_search(needed_->names, last)) return;
  const auto [name, first] = by_name_.try_emplace(std::string(last), lifetime);
  if (!first && name->second != lifetime) name->second.reset();
  if (needed_ && !std::ranges::binary_search(needed_->paths, std::string_view(normal))) return;
  by_path_[std::move(normal)] = lifetime;
}

void LifetimeHints::KeepOnlyFor(std::vector<std::string_view> paths) {
  Needed needed{.paths = std::move(paths), .names = {}};
  for (const std::string_view path : needed.paths) needed.names.push_back(LastComponent(path));
  std::ranges::sort(needed.paths);
  std::ranges::sort(needed.names);
  needed_ = std::move(needed);
}

std::string LifetimeHints::Text() const {
  std::string text;
  for (const auto& [path, lifetime] : by_path_) {
    text += path;
    text += '\t';
    text += std::to_string(static_cast<int>(lifetime));
    text += '\n';
  }
  return text;
}

std::optional<Lifetime> LifetimeHints::Find(std::string_view destination, std::string_view relative) const {
  if (const auto it = by_path_.find(NormalizePath(destination)); it != by_path_.end()) return it->second;
  const std::string normal = NormalizePath(relative);
  if (const auto it = by_path_.find(normal); it != by_path_.end()) return it->second;
  const auto it = by_name_.find(LastComponent(normal));
  return it == by_name_.end() ? std::nullopt : it->second;
}

}  // namespace zenfs
