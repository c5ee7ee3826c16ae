#include "volume/fsck/file_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.h"

namespace zenfs {
namespace {

constexpr std::string_view kCut = "...";

}  // namespace

FileNames::FileNames(const State& state)
    : FileNames([&state](FileId id) { return state.FindDirectory(id); }) {}

FileNames::FileNames(std::function<const Directory*(FileId)> find) : find_(std::move(find)) {}

const FileNames::Index& FileNames::Built() const {
  if (index_) return *index_;
  Index index;
  std::set<FileId> visited{kRootDirectory};  // damaged metadata may contain a cycle
  std::vector<const Directory*> found{find_(kRootDirectory)};
  index.directories.push_back({});
  for (std::uint32_t at = 0; at < found.size(); ++at) {
    if (found[at] == nullptr) continue;
    for (const auto& [text, id] : found[at]->entries) {
      index.names.push_back({.id = id, .directory = at, .text = &text});
      const Directory* const directory = find_(id);
      if (directory == nullptr || !visited.insert(id).second) continue;
      found.push_back(directory);
      index.directories.push_back({.parent = at, .name = &text});
    }
  }
  // Names of one file stay in the order in which they were found.
  std::ranges::sort(index.names, [](const Name& a, const Name& b) {
    if (a.id != b.id) return a.id < b.id;
    return a.directory != b.directory ? a.directory < b.directory : *a.text < *b.text;
  });
  return index_.emplace(std::move(index));
}

std::span<const FileNames::Name> FileNames::NamesOf(FileId id) const {
  const auto found = std::ranges::equal_range(Built().names, id, {}, &Name::id);
  return {found.begin(), found.end()};
}

std::string FileNames::Joined(const Name& name) const {
  const std::vector<Place>& directories = Built().directories;
  std::vector<const std::string*> parts{name.text};
  std::size_t bytes = 1 + name.text->size();
  std::uint32_t at = name.directory;
  for (; at != 0; at = directories[at].parent) {
    if (bytes + 1 + directories[at].name->size() > kPathBytesShown) break;
    parts.push_back(directories[at].name);
    bytes += 1 + parts.back()->size();
  }
  std::string path(at == 0 ? "" : kCut);
  path.reserve(path.size() + bytes);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) path.append("/").append(**part);
  return path;
}

FileNames::Paths FileNames::PathsOf(FileId id) const {
  const std::span<const Name> names = NamesOf(id);
  Paths paths{.whole = {}, .others = names.size()};
  for (const Name& name : names.first(std::min(names.size(), kNamesShown))) {
    std::string path = Joined(name);
    if (path.starts_with(kCut)) continue;
    paths.whole.push_back(std::move(path));
    --paths.others;
  }
  std::ranges::sort(paths.whole);
  return paths;
}

std::string FileNames::PathOf(FileId id) const {
  const std::span<const Name> names = NamesOf(id);
  return names.empty() ? "" : Joined(names.front());
}

std::string FileNames::Describe(FileId id) const {
  const std::span<const Name> names = NamesOf(id);
  if (names.empty()) return fmt::format("file {} (no name)", id.value);
  std::vector<std::string> paths;
  for (const Name& name : names.first(std::min(names.size(), kNamesShown))) paths.push_back(Joined(name));
  std::ranges::sort(paths);
  const std::size_t others = names.size() - paths.size();
  return fmt::format("file {} ({}{})", id.value, fmt::join(paths, ", "),
                     others == 0 ? "" : " and " + Counted(others, "more name"));
}

}  // namespace zenfs
