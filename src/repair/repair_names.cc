#include "repair/repair_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/clock.h"

namespace zenfs {
namespace {

// Returns the ids reachable from the root. Keeps one path to each directory and removes the others.
std::set<FileId> Reach(StateDraft& draft, Sentences& steps) {
  std::set<FileId> seen{kRootDirectory};
  std::deque<FileId> pending{kRootDirectory};
  for (; !pending.empty(); pending.pop_front()) {
    Directory& parent = draft.directories.at(pending.front());
    for (auto entry = parent.entries.begin(); entry != parent.entries.end();) {
      const auto [name, id] = *entry;
      const auto child = draft.directories.find(id);
      const bool file = draft.files.contains(id) && child == draft.directories.end();
      const bool directory = child != draft.directories.end() && seen.insert(id).second;
      if ((!file && !directory) || !IsValidName(name)) {
        steps.Add(
            fmt::format("remove the name \"{}\" from directory {}: {}", name, parent.id.value,
                        file || directory ? "it is not a valid name" : "it names no file or directory"));
        if (directory) seen.erase(id);
        entry = parent.entries.erase(entry);
        continue;
      }
      if (directory) {
        child->second.parent = parent.id;
        child->second.name = name;
        pending.push_back(id);
      } else {
        seen.insert(id);
      }
      ++entry;
    }
  }
  return seen;
}

}  // namespace

FileId LostAndFound::directory() {
  if (directory_ == kNoFile) directory_ = FindOrMake();
  return directory_;
}

FileId LostAndFound::FindOrMake() {
  const Directory& root = draft_.directories.at(kRootDirectory);
  if (const auto entry = root.entries.find(kLostAndFound); entry != root.entries.end()) {
    if (draft_.directories.contains(entry->second)) return entry->second;
  }
  for (const auto& [name, id] : root.entries) {  // made by an earlier repair
    if (name.starts_with(fmt::format("{}.", kLostAndFound)) && draft_.directories.contains(id)) return id;
  }
  const FileId id = draft_.NewId();
  const std::string name = draft_.FreeName(kRootDirectory, kLostAndFound);
  draft_.directories.at(kRootDirectory).entries.emplace(name, id);
  draft_.directories.emplace(
      id,
      Directory{
          .id = id, .parent = kRootDirectory, .name = name, .mtime_seconds = WallSeconds(), .entries = {}});
  return id;
}

std::string LostAndFound::Enter(FileId id, const std::string& name) {
  std::string free = draft_.FreeName(directory(), name);
  draft_.directories.at(directory()).entries.emplace(free, id);
  return free;
}

std::string LostAndFound::Put(FileRecord file, const std::string& name) {
  const FileId id = file.id;
  const std::string free = Enter(id, name);
  draft_.files.insert_or_assign(id, std::move(file));
  return fmt::format("/{}/{}", draft_.directories.at(directory()).name, free);
}

void RepairNames(StateDraft& draft, Sentences& steps) {
  LostAndFound lost_and_found(draft);
  std::set<FileId> seen = Reach(draft, steps);
  // Directories first: files below a directory that is put back have their names again.
  std::vector<FileId> lost;
  for (const auto& [id, directory] : draft.directories) {
    if (seen.contains(id)) continue;
    const bool below_another = directory.parent != id && directory.parent != kNoFile &&
                               draft.directories.contains(directory.parent) &&
                               !seen.contains(directory.parent) &&
                               draft.directories.at(directory.parent).entries.contains(directory.name);
    if (!below_another) lost.push_back(id);
  }
  for (const FileId id : lost) {
    const std::string name = lost_and_found.Enter(id, fmt::format("directory-{}", id.value));
    steps.Add(fmt::format("put directory {}, which has no name, at /{}/{}", id.value, kLostAndFound, name));
  }
  seen = Reach(draft, steps);
  // Removes directories that are reachable only from each other (cycles).
  std::erase_if(draft.directories, [&](const auto& directory) { return !seen.contains(directory.first); });
  std::vector<FileRecord> nameless;
  for (const auto& [id, file] : draft.files) {
    if (!seen.contains(id)) nameless.push_back(file);
  }
  for (const FileRecord& file : nameless) {
    const std::string path = lost_and_found.Put(file, fmt::format("file-{}", file.id.value));
    steps.Add(fmt::format("put file {}, which has no name, at {}", file.id.value, path));
  }
}

}  // namespace zenfs
