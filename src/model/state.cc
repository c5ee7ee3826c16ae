#include "model/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/applier.h"

namespace zenfs {

State::State() {
  directories_.emplace(
      kRootDirectory,
      Directory{
          .id = kRootDirectory, .parent = kRootDirectory, .name = {}, .mtime_seconds = 0, .entries = {}});
}

Status State::Apply(std::span<const Edit> edits, Effects* effects) {
  [[maybe_unused]] const std::uint64_t epoch = epoch_;
  [[maybe_unused]] const std::uint64_t next_id = next_id_;
  [[maybe_unused]] const std::uint64_t next_generation = next_generation_;
  Applier applier(*this, effects);
  for (const Edit& edit : edits) ZENFS_RETURN_IF_ERROR(applier.Take(edit));
  ZENFS_RETURN_IF_ERROR(applier.Finish());
  ZENFS_RETURN_IF_ERROR(CheckMoved());
  ZENFS_ASSERT(epoch_ >= epoch && next_id_ >= next_id && next_generation_ >= next_generation);
  ZENFS_ASSERT(directories_.contains(kRootDirectory));
  return {};
}

Status State::Replay(const std::function<Result<const Edit*>()>& next) {
  Applier applier(*this, nullptr);
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const Edit* edit, next());
    if (edit == nullptr) return applier.Finish();
    ZENFS_RETURN_IF_ERROR(applier.Take(*edit));
  }
}

// All at once, so that many renames in a deep tree cost one walk. Only a directory that moved can be below itself.
Status State::CheckMoved() {
  std::unordered_map<FileId, std::size_t> visited{{kRootDirectory, 0}};  // on the way from which of them
  std::size_t way = 0;
  for (const FileId moved : std::exchange(moved_directories_, {})) {
    ++way;
    for (auto at = directories_.find(moved);; at = directories_.find(at->second.parent)) {
      const auto [before, is_new] = visited.try_emplace(at->first, way);
      if (is_new) continue;
      if (before->second != way) break;
      return Fail(Code::kCorruption, fmt::format("directory {} cannot move below itself", at->first.value));
    }
  }
  return {};
}

std::shared_ptr<const FileRecord> State::FindFile(FileId id) const {
  const auto found = files_.find(id);
  return found == files_.end() ? nullptr : found->second;
}

const Directory* State::FindDirectory(FileId id) const {
  const auto found = directories_.find(id);
  return found == directories_.end() ? nullptr : &found->second;
}

std::optional<FileId> State::FindEntry(FileId parent, std::string_view name) const {
  const Directory* directory = FindDirectory(parent);
  if (directory == nullptr) return std::nullopt;
  const auto found = directory->entries.find(name);
  if (found == directory->entries.end()) return std::nullopt;
  return found->second;
}

bool operator==(const State& a, const State& b) {
  const auto same_file = [&](const auto& entry) {
    const auto other = b.FindFile(entry.first);
    return other != nullptr && (other == entry.second || *other == *entry.second);
  };
  return a.epoch_ == b.epoch_ && a.next_id_ == b.next_id_ && a.next_generation_ == b.next_generation_ &&
         a.buffers_ == b.buffers_ && a.pair_key_ == b.pair_key_ && a.log_zones_ == b.log_zones_ &&
         a.directories_ == b.directories_ && a.files_.size() == b.files_.size() &&
         std::ranges::all_of(a.files_, same_file);
}

}  // namespace zenfs
