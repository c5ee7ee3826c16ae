#include "model/state_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

namespace zenfs {

// One overload for each kind of edit. Each returns a sentence about the part that did not fit, or an empty string.
struct StateDraft::Applier {
  StateDraft& draft;

  // Returns the record of `id`, created if needed. Raises next_id above it.
  FileRecord& File(FileId id) {
    draft.next_id = std::max(draft.next_id, id.value + 1);
    FileRecord& file = draft.files[id];
    file.id = id;
    return file;
  }
  Directory& DirectoryOf(FileId id) {
    const auto [found, made] = draft.directories.try_emplace(id);
    if (made) found->second.id = id;  // has no name and no parent yet
    draft.next_id = std::max(draft.next_id, id.value + 1);
    return found->second;
  }
  std::string Enter(FileId parent, const std::string& name, FileId id) {
    if (!IsValidName(name)) return fmt::format("{} has an invalid name", id.value);
    Directory& directory = DirectoryOf(parent);
    const auto [entry, is_new] = directory.entries.try_emplace(name, id);
    if (!is_new && entry->second == id) return {};
    ++draft.names_[id];
    if (is_new) return {};
    const FileId before = std::exchange(entry->second, id);
    Forget(before);
    return fmt::format("\"{}\" in directory {} was the name of {} and is now that of {}", name, parent.value,
                       before.value, id.value);
  }

  // An entry of `id` was removed. Returns true if it was the last.
  bool Forget(FileId id) {
    const auto count = draft.names_.find(id);
    if (count == draft.names_.end()) return true;
    if (--count->second != 0) return false;
    draft.names_.erase(count);
    return true;
  }

  std::string operator()(const CreateFile& edit) {
    FileRecord& file = File(edit.id);
    file.shape = edit.shape;
    file.lifetime = edit.lifetime;
    file.mtime_seconds = edit.mtime_seconds;
    return {};
  }
  std::string operator()(const CreateDirectory& edit) {
    Directory& directory = DirectoryOf(edit.id);
    directory.parent = edit.parent;
    directory.name = edit.name;
    directory.mtime_seconds = edit.mtime_seconds;
    return Enter(edit.parent, edit.name, edit.id);
  }
  std::string operator()(const LinkFile& edit) {
    File(edit.id);
    return Enter(edit.parent, edit.name, edit.id);
  }
  std::string operator()(const UnlinkFile& edit) {
    Directory& parent = DirectoryOf(edit.parent);
    const auto entry = parent.entries.find(edit.name);
    if (entry == parent.entries.end()) return EditText(edit) + ": there is no such name";
    const FileId id = entry->second;
    parent.entries.erase(entry);
    if (Forget(id)) draft.files.erase(id);
    return {};
  }
  std::string operator()(const RenameEntry& edit) {
    Directory& from = DirectoryOf(edit.from_parent);
    const auto entry = from.entries.find(edit.from_name);
    if (entry == from.entries.end()) return EditText(edit) + ": there is no such name";
    if (edit.from_parent == edit.to_parent && edit.from_name == edit.to_name) return {};
    const FileId id = entry->second;
    from.entries.erase(entry);
    Forget(id);
    const auto replaced = DirectoryOf(edit.to_parent).entries.find(edit.to_name);
    if (replaced != DirectoryOf(edit.to_parent).entries.end()) {
      if (replaced->second == id) {  // another name of the same file
        DirectoryOf(edit.to_parent).entries.erase(replaced);
        Forget(id);
      } else if (draft.files.contains(replaced->second)) {
        (*this)(UnlinkFile{edit.to_parent, edit.to_name});
      } else {
        (*this)(RemoveDirectory{edit.to_parent, edit.to_name});
      }
    }
    if (const auto directory = draft.directories.find(id); directory != draft.directories.end()) {
      directory->second.parent = edit.to_parent;
      directory->second.name = edit.to_name;
    }
    return Enter(edit.to_parent, edit.to_name, id);
  }
  std::string operator()(const RemoveDirectory& edit) {
    Directory& parent = DirectoryOf(edit.parent);
    const auto entry = parent.entries.find(edit.name);
    if (entry == parent.entries.end()) return EditText(edit) + ": there is no such name";
    const auto directory = draft.directories.find(entry->second);
    if (directory != draft.directories.end()) {
      if (!directory->second.entries.empty()) return EditText(edit) + ": the directory is not empty";
      draft.directories.erase(directory);
    }
    Forget(entry->second);
    parent.entries.erase(entry);
    return {};
  }
  std::string operator()(const SetExtents& edit) {
    FileRecord& file = File(edit.id);
    const auto dropped = std::ranges::lower_bound(file.extents, edit.from_offset, {}, &Extent::file_offset);
    file.extents.erase(dropped, file.extents.end());
    if (!file.extents.empty() && file.extents.back().end() > edit.from_offset) {
      file.extents.back().length = edit.from_offset - file.extents.back().file_offset;
      file.extents.back().crc.reset();  // the CRC covered the whole extent
    }
    file.size = edit.size;
    file.mtime_seconds = edit.mtime_seconds;
    // The list only grows at its end. No writer adds an extent before others, and to put a million of them there would take hours.
    std::vector<Extent> added = edit.extents;
    std::ranges::sort(added, {}, &Extent::file_offset);
    const std::uint64_t begin = file.extents.empty() ? 0 : file.extents.back().file_offset;
    const auto behind = std::ranges::lower_bound(added, begin, {}, &Extent::file_offset);
    file.extents.insert(file.extents.end(), behind, added.end());
    if (behind == added.begin()) return {};
    return fmt::format("file {} has an extent at byte {}, before others that it keeps", edit.id.value,
                       added.front().file_offset);
  }
  std::string operator()(const SealLog& edit) {
    FileRecord& file = File(edit.id);
    file.shape = FileShape::kFramed;
    file.SetWindows(edit.windows);
    file.next_sequence = std::max(file.next_sequence, edit.next_sequence);
    file.size = edit.size;
    file.mtime_seconds = edit.mtime_seconds;
    return {};
  }
  std::string operator()(const SetLifetime& edit) {
    File(edit.id).lifetime = edit.lifetime;
    return {};
  }
  std::string operator()(const AllocateLogZones& edit) {
    for (const LogZone& zone : edit.zones) {
      draft.log_zones[zone.zone] = zone;
      draft.next_generation = std::max(draft.next_generation, zone.generation + 1);
    }
    return {};
  }
  std::string operator()(const ReleaseLogZones& edit) {
    for (const ZoneId zone : edit.zones) draft.log_zones.erase(zone);
    return {};
  }
  std::string operator()(const BeginEpoch& edit) {
    draft.epoch = std::max(draft.epoch, edit.epoch);
    return {};
  }
  std::string operator()(const RaiseCounters& edit) {
    draft.next_id = std::max(draft.next_id, edit.next_id);
    draft.next_generation = std::max(draft.next_generation, edit.next_generation);
    return {};
  }
  std::string operator()(const SetBufferPlace& edit) {
    draft.buffers = edit;
    return {};
  }
  std::string operator()(const MarkSyncZone& edit) {
    const auto zone = draft.log_zones.find(edit.zone);
    if (zone != draft.log_zones.end()) zone->second.sync_bytes = edit.bytes;
    return {};
  }
  std::string operator()(const SetPairKey& edit) {
    draft.pair_key = edit.key;
    return {};
  }
};

StateDraft::StateDraft() : StateDraft(State()) {}

StateDraft::StateDraft(const State& state)
    : directories(state.directories().begin(), state.directories().end()),
      log_zones(state.log_zones()),
      epoch(state.epoch()),
      next_id(state.next_id()),
      next_generation(state.next_generation()),
      buffers(state.buffers()),
      pair_key(state.pair_key()) {
  for (const auto& [id, record] : state.files()) files.emplace(id, *record);
  for (const auto& [id, directory] : state.directories()) {
    for (const auto& [name, entry] : directory.entries) ++names_[entry];
  }
}

std::string StateDraft::Apply(const Edit& edit) { return std::visit(Applier{*this}, edit); }

std::string StateDraft::FreeName(FileId directory, const std::string& wanted) {
  constexpr std::size_t kRoomForNumber = 16;
  const auto& entries = directories.at(directory).entries;
  const std::string base = wanted.substr(0, kMaxNameBytes - kRoomForNumber);
  if (base == wanted && IsValidName(wanted) && !entries.contains(wanted)) return wanted;
  if (numbered_in_ != directory || numbered_ != base) {
    numbered_in_ = directory;
    numbered_ = base;
    number_ = 1;
  }
  for (;; ++number_) {
    std::string name = fmt::format("{}.{}", base, number_);
    if (!entries.contains(name)) return name;
  }
}

Result<State> StateDraft::ToState() const {
  constexpr std::size_t kEditsAtOnce = 1000;
  std::vector<Edit> edits{RaiseCounters{.next_id = next_id, .next_generation = next_generation}};
  if (epoch != 0) edits.push_back(BeginEpoch{epoch});
  if (!buffers.place.empty()) edits.push_back(buffers);
  if (!pair_key.IsNil()) edits.push_back(SetPairKey{pair_key});
  AllocateLogZones allocated;
  std::vector<Edit> marks;
  for (const auto& [id, zone] : log_zones) {
    allocated.zones.push_back({.zone = id, .generation = zone.generation, .salt = zone.salt});
    if (zone.sync_bytes != 0) marks.push_back(MarkSyncZone{id, zone.sync_bytes});
  }
  if (!allocated.zones.empty()) edits.push_back(std::move(allocated));
  edits.insert(edits.end(), marks.begin(), marks.end());
  State state;
  std::set<FileId> made;
  std::deque<FileId> pending{kRootDirectory};
  for (; !pending.empty(); pending.pop_front()) {
    const FileId parent = pending.front();
    for (const auto& [name, id] : directories.at(parent).entries) {
      if (const auto child = directories.find(id); child != directories.end()) {
        edits.push_back(CreateDirectory{id, parent, name, child->second.mtime_seconds});
        pending.push_back(id);
        continue;
      }
      const auto file = files.find(id);
      if (file == files.end()) {
        return Fail(Code::kCorruption,
                    fmt::format("\"{}\" in directory {} names a missing file", name, parent.value));
      }
      const FileRecord& f = file->second;
      const bool first = made.insert(id).second;
      if (first) edits.push_back(CreateFile{id, f.shape, f.lifetime, f.mtime_seconds});
      edits.push_back(LinkFile{parent, name, id});
      if (!first) continue;
      if (!f.extents.empty()) edits.push_back(SetExtents{id, 0, f.extents, f.size, f.mtime_seconds});
      if (f.shape == FileShape::kFramed && (!f.windows.empty() || f.next_sequence != 1)) {
        edits.push_back(SealLog{id, f.windows, f.next_sequence, f.size, f.mtime_seconds});
      }
      if (edits.size() < kEditsAtOnce) continue;  // all at once would take more memory than the draft
      ZENFS_RETURN_IF_ERROR(state.Apply(edits));
      edits.clear();
    }
  }
  ZENFS_RETURN_IF_ERROR(state.Apply(edits));
  return state;
}

}  // namespace zenfs
