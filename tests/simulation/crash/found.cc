#include "found.h"

#include <fmt/format.h>

#include "base/aligned_buffer.h"

#include <algorithm>

namespace zenfs {
namespace {

Status FindUnder(Volume& volume, const std::string& directory, bool grows, FoundTree& found) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume.List(directory));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
    FoundEntry& here = found[path];
    here = {.is_directory = entry.stat.is_directory,
            .id = entry.stat.id.value,
            .shape = entry.stat.shape,
            .content = {}};
    if (here.is_directory) {
      ZENFS_RETURN_IF_ERROR(FindUnder(volume, path, grows, found));
      continue;
    }
    ZENFS_ASSIGN_OR_RETURN(here.content, ReadWhole(volume, path));
    if (!grows && here.content.size() != entry.stat.size) {
      return Fail(Code::kCorruption,
                  fmt::format("{}: {} bytes by List, {} read", path, entry.stat.size, here.content.size()));
    }
  }
  return {};
}

}  // namespace

Result<std::string> ReadWhole(Volume& volume, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume.OpenForRead(path));
  // Memory alignment decides how a file is read; in the simulator it must not vary.
  const std::uint64_t size = file->size();  // it may be growing
  AlignedBuffer content(size);
  const auto read = file->Read(0, content.Whole().first(size));
  if (!read) return Fail(read.error().With(path));
  return std::string(reinterpret_cast<const char*>(content.data()), *read);
}

Result<FoundTree> Find(Volume& volume, const std::string& root, bool grows) {
  FoundTree found;
  if (!root.empty()) {
    const Result<FileStat> stat = volume.Stat(root);
    if (!stat && stat.error().code() == Code::kNotFound) return found;
    if (!stat) return Fail(stat.error());
    found[root] = {.is_directory = true, .id = stat->id.value, .shape = {}, .content = {}};
  }
  ZENFS_RETURN_IF_ERROR(FindUnder(volume, root, grows, found));
  return found;
}

std::string DescribeMismatch(const std::string& expected, const std::string& found) {
  const auto at = std::ranges::mismatch(expected, found).in1 - expected.begin();
  return fmt::format("{} bytes found, {} expected, first difference at {}", found.size(), expected.size(),
                     at);
}

std::string Difference(const FoundTree& expected, const FoundTree& found) {
  for (const auto& [path, entry] : expected) {
    const auto it = found.find(path);
    if (it == found.end()) return path + ": missing";
    if (it->second.content != entry.content) {
      return path + ": " + DescribeMismatch(entry.content, it->second.content);
    }
    if (it->second != entry) return path + ": is another file";
  }
  for (const auto& [path, entry] : found) {
    if (!expected.contains(path)) return path + ": should not be there";
  }
  return {};
}

}  // namespace zenfs
