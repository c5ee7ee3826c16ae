// Applies the edits of one commit to a State.
//
// The first edit of a file copies its record, unless nobody else has it: then a commit on a file of many extents costs as
// much as one on a file of few. Later edits change the copy, and Finish publishes it as an immutable record.
#include "model/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Drops the extents from `offset` on, and cuts the one that contains it. Adds the dropped ranges to `lost`.
void DropExtents(FileRecord& file, std::uint64_t offset, std::vector<Extent>* lost) {
  while (!file.extents.empty() && file.extents.back().end() > offset) {
    Extent& last = file.extents.back();
    if (last.file_offset >= offset) {
      if (lost != nullptr) lost->push_back(last);
      file.extents.pop_back();
      continue;
    }
    const std::uint64_t kept = offset - last.file_offset;
    if (lost != nullptr) {
      lost->push_back(
          Extent{.file_offset = offset, .place = last.place + kept, .length = last.length - kept});
    }
    last.length = kept;
    last.crc.reset();  // the CRC covered the whole extent
  }
}

Status CheckExtent(const Extent& extent, std::uint64_t expected_offset) {
  if (extent.file_offset != expected_offset) {
    return Fail(Code::kCorruption,
                fmt::format("an extent begins at byte {}, expected {}", extent.file_offset, expected_offset));
  }
  if (extent.length == 0 || extent.length > kMax - extent.file_offset ||
      extent.length > kMax - extent.place.value) {
    return Fail(Code::kCorruption, fmt::format("an extent of {} bytes at device byte {} is impossible",
                                               extent.length, extent.place.value));
  }
  return {};
}

Status CheckWindows(const std::vector<LogWindow>& windows, std::uint64_t epoch, std::uint64_t next_sequence) {
  const LogWindow* previous = nullptr;
  for (const LogWindow& window : windows) {
    if (window.first_sequence == 0 || window.first_sequence > window.last_sequence ||
        window.last_sequence >= next_sequence) {
      return Fail(Code::kCorruption, fmt::format("a window of frames {} to {} before frame {} is impossible",
                                                 window.first_sequence, window.last_sequence, next_sequence));
    }
    if (window.epoch > epoch) {
      return Fail(Code::kCorruption,
                  fmt::format("a window of epoch {}, but the epoch is {}", window.epoch, epoch));
    }
    if (previous != nullptr && (window.first_sequence <= previous->last_sequence ||
                                window.epoch < previous->epoch || window.end < previous->end)) {
      return Fail(Code::kCorruption, "the windows are not in file order");
    }
    previous = &window;
  }
  return {};
}

// Checks that extents begin at 0 and have no gaps, and that windows follow them in order.
[[maybe_unused]] bool InOrder(const FileRecord& file) {
  std::uint64_t end = 0;
  for (const Extent& extent : file.extents) {
    if (extent.file_offset != end || extent.length == 0) return false;
    end = extent.end();
  }
  std::uint64_t sequence = 0;
  for (const LogWindow& window : file.windows) {
    if (window.first_sequence <= sequence || window.last_sequence < window.first_sequence) return false;
    if (window.last_sequence >= file.next_sequence || window.end < end) return false;
    sequence = window.last_sequence;
    end = window.end;
  }
  return file.size == end;
}

Status CheckNumber(std::string_view what, std::uint64_t number) {
  if (number < kStateNumbersEnd) return {};
  return Fail(Code::kCorruption, fmt::format("{} {} is higher than any writer counts", what, number));
}

// Returns true if nobody else has the record. Nobody can get it then: the owner of the state has locked it.
bool IsSole(const std::shared_ptr<const FileRecord>& record) {
  if (record.use_count() != 1) return false;
  // use_count() orders nothing. This does: what other threads read of the record, they read before it is changed.
  std::shared_ptr<const FileRecord>(record).reset();
  return true;
}

Status CheckContents(const FileRecord& file) {
  const std::uint64_t end = file.windows.empty() ? file.ExtentsEnd() : file.windows.back().end;
  if (file.size != end) {
    return Fail(Code::kCorruption, fmt::format("file {} has size {}, but its extents and windows end at {}",
                                               file.id.value, file.size, end));
  }
  ZENFS_RETURN_IF_ERROR(CheckNumber("size", file.size));
  ZENFS_RETURN_IF_ERROR(CheckNumber("frame", file.next_sequence));
  if (!file.windows.empty() && file.windows.front().end < file.ExtentsEnd()) {
    return Fail(Code::kCorruption, fmt::format("file {} has a window inside its extents", file.id.value));
  }
  return {};
}

// Of a file that a commit has changed. `next_id`: lowest id that was never allocated.
Status CheckChanged(const FileRecord& file, bool created, std::uint64_t next_id) {
  if (created && file.links == 0) {
    return Fail(Code::kCorruption, fmt::format("file {} was created without a name", file.id.value));
  }
  if (created && file.id.value >= next_id) {
    return Fail(Code::kCorruption,
                fmt::format("file id {} was never allocated (next is {})", file.id.value, next_id));
  }
  return CheckContents(file);
}

}  // namespace

class State::Applier {
 public:
  // `effects` may be null. `state` and `effects` must outlive the applier.
  Applier(State& state, Effects* effects) : state_(state), effects_(effects) {}

  // One overload for each kind of edit.
  Status operator()(const CreateFile& edit);
  Status operator()(const CreateDirectory& edit);
  Status operator()(const LinkFile& edit);
  Status operator()(const UnlinkFile& edit);
  Status operator()(const RenameEntry& edit);
  Status operator()(const RemoveDirectory& edit);
  Status operator()(const SetExtents& edit);
  Status operator()(const SealLog& edit);
  Status operator()(const SetLifetime& edit);
  Status operator()(const AllocateLogZones& edit);
  Status operator()(const ReleaseLogZones& edit);
  Status operator()(const BeginEpoch& edit);
  Status operator()(const RaiseCounters& edit);
  Status operator()(const SetBufferPlace& edit);
  Status operator()(const MarkSyncZone& edit);
  Status operator()(const SetPairKey& edit);

  // Applies one edit. Errors: kCorruption; the text describes the edit.
  Status Take(const Edit& edit) {
    if (Status done = std::visit(*this, edit); !done.ok()) return Fail(done.error().With(EditText(edit)));
    return {};
  }

  // Checks the invariants that hold at the end of a commit, publishes the touched files, and removes files without a name.
  Status Finish();

 private:
  struct Touched {
    std::shared_ptr<FileRecord> record;
    bool created = false;
  };

  // The working copy of a file; null if there is no such file.
  FileRecord* Touch(FileId id);
  bool IsFile(FileId id) const;
  bool IsUsed(FileId id) const;
  Directory* FindDirectory(FileId id);
  // Returns the directory `parent`. Errors: kCorruption if it does not exist or cannot take an entry `name`.
  Result<Directory*> ForNewEntry(FileId parent, std::string_view name);
  Status MakeRoomForRename(Directory& target, const std::string& name, FileId moved);

  State& state_;
  Effects* effects_;
  std::unordered_map<FileId, Touched> touched_;
  std::vector<FileId> order_;  // keys of touched_ in the order of the edits; the order of effects
  std::vector<FileId> new_directories_;
  std::vector<ZoneId> new_log_zones_;
};

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

bool State::Applier::IsFile(FileId id) const { return touched_.contains(id) || state_.files_.contains(id); }

bool State::Applier::IsUsed(FileId id) const { return IsFile(id) || state_.directories_.contains(id); }

FileRecord* State::Applier::Touch(FileId id) {
  if (const auto found = touched_.find(id); found != touched_.end()) return found->second.record.get();
  const auto known = state_.files_.find(id);
  if (known == state_.files_.end()) return nullptr;
  order_.push_back(id);
  auto record = IsSole(known->second) ? std::const_pointer_cast<FileRecord>(known->second)
                                      : std::make_shared<FileRecord>(*known->second);
  return touched_.emplace(id, Touched{.record = std::move(record)}).first->second.record.get();
}

Directory* State::Applier::FindDirectory(FileId id) {
  const auto found = state_.directories_.find(id);
  return found == state_.directories_.end() ? nullptr : &found->second;
}

// --- names ---

Result<Directory*> State::Applier::ForNewEntry(FileId parent, std::string_view name) {
  Directory* directory = FindDirectory(parent);
  if (directory == nullptr) {
    return Fail(Code::kCorruption, fmt::format("there is no directory {}", parent.value));
  }
  if (!IsValidName(name)) return Fail(Code::kCorruption, "invalid name");
  if (directory->entries.contains(name)) return Fail(Code::kCorruption, "the name is taken");
  return directory;
}

Status State::Applier::operator()(const CreateFile& edit) {
  if (edit.id == kNoFile || IsUsed(edit.id)) {
    return Fail(Code::kCorruption, fmt::format("id {} is in use", edit.id.value));
  }
  auto record = std::make_shared<FileRecord>();
  record->id = edit.id;
  record->shape = edit.shape;
  record->lifetime = edit.lifetime;
  record->mtime_seconds = edit.mtime_seconds;
  touched_.emplace(edit.id, Touched{.record = std::move(record), .created = true});
  order_.push_back(edit.id);
  return {};
}

Status State::Applier::operator()(const CreateDirectory& edit) {
  if (edit.id == kNoFile || IsUsed(edit.id)) {
    return Fail(Code::kCorruption, fmt::format("id {} is in use", edit.id.value));
  }
  ZENFS_ASSIGN_OR_RETURN(Directory * parent, ForNewEntry(edit.parent, edit.name));
  parent->entries.emplace(edit.name, edit.id);
  state_.directories_.emplace(edit.id, Directory{.id = edit.id,
                                                 .parent = edit.parent,
                                                 .name = edit.name,
                                                 .mtime_seconds = edit.mtime_seconds,
                                                 .entries = {}});
  new_directories_.push_back(edit.id);
  return {};
}

Status State::Applier::operator()(const LinkFile& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  ZENFS_ASSIGN_OR_RETURN(Directory * parent, ForNewEntry(edit.parent, edit.name));
  parent->entries.emplace(edit.name, edit.id);
  ++file->links;
  return {};
}

Status State::Applier::operator()(const UnlinkFile& edit) {
  Directory* parent = FindDirectory(edit.parent);
  if (parent == nullptr) return Fail(Code::kCorruption, "there is no such directory");
  const auto entry = parent->entries.find(edit.name);
  if (entry == parent->entries.end()) return Fail(Code::kCorruption, "there is no such name");
  FileRecord* file = Touch(entry->second);
  if (file == nullptr) return Fail(Code::kCorruption, "the name is that of a directory");
  parent->entries.erase(entry);
  --file->links;
  return {};
}

// Removes the entry `name` from `target`, if there is one. Errors: kCorruption if `moved` may not replace it.
Status State::Applier::MakeRoomForRename(Directory& target, const std::string& name, FileId moved) {
  const auto entry = target.entries.find(name);
  if (entry == target.entries.end()) return {};
  const FileId replaced = entry->second;
  if (IsFile(moved) != IsFile(replaced)) {
    return Fail(Code::kCorruption, "a file and a directory cannot replace each other");
  }
  if (FileRecord* file = Touch(replaced)) {
    --file->links;
  } else {
    if (!state_.directories_.at(replaced).entries.empty()) {
      return Fail(Code::kCorruption, "the directory to be replaced is not empty");
    }
    state_.directories_.erase(replaced);
    state_.moved_directories_.erase(replaced);
  }
  target.entries.erase(entry);
  return {};
}

Status State::Applier::operator()(const RenameEntry& edit) {
  Directory* from = FindDirectory(edit.from_parent);
  Directory* to = FindDirectory(edit.to_parent);
  if (from == nullptr || to == nullptr) return Fail(Code::kCorruption, "there is no such directory");
  if (!IsValidName(edit.to_name)) return Fail(Code::kCorruption, "invalid name");
  const auto entry = from->entries.find(edit.from_name);
  if (entry == from->entries.end()) return Fail(Code::kCorruption, "there is no such name");
  if (from == to && edit.from_name == edit.to_name) return {};
  const FileId moved = entry->second;
  const bool is_directory = !IsFile(moved);
  ZENFS_RETURN_IF_ERROR(MakeRoomForRename(*to, edit.to_name, moved));
  from->entries.erase(edit.from_name);
  to->entries.emplace(edit.to_name, moved);
  if (is_directory) {
    Directory& directory = state_.directories_.at(moved);
    directory.parent = edit.to_parent;
    directory.name = edit.to_name;
    state_.moved_directories_.insert(moved);
  }
  return {};
}

Status State::Applier::operator()(const RemoveDirectory& edit) {
  Directory* parent = FindDirectory(edit.parent);
  if (parent == nullptr) return Fail(Code::kCorruption, "there is no such directory");
  const auto entry = parent->entries.find(edit.name);
  if (entry == parent->entries.end()) return Fail(Code::kCorruption, "there is no such name");
  const auto directory = state_.directories_.find(entry->second);
  if (directory == state_.directories_.end()) return Fail(Code::kCorruption, "the name is that of a file");
  if (!directory->second.entries.empty()) return Fail(Code::kCorruption, "the directory is not empty");
  state_.moved_directories_.erase(directory->first);
  state_.directories_.erase(directory);
  parent->entries.erase(entry);
  return {};
}

// --- contents of files ---

Status ApplyExtents(const SetExtents& edit, FileRecord& file, Effects* effects) {
  DropExtents(file, edit.from_offset, effects == nullptr ? nullptr : &effects->lost);
  std::uint64_t end = file.ExtentsEnd();
  for (const Extent& extent : edit.extents) {
    ZENFS_RETURN_IF_ERROR(CheckExtent(extent, end));
    end = extent.end();
  }
  file.extents.insert(file.extents.end(), edit.extents.begin(), edit.extents.end());
  file.size = edit.size;
  file.mtime_seconds = edit.mtime_seconds;
  if (effects != nullptr) {
    effects->gained.insert(effects->gained.end(), edit.extents.begin(), edit.extents.end());
  }
  return {};
}

Status ApplyOnlyExtents(const SetExtents& edit, FileRecord& file) {
  if (Status applied = ApplyExtents(edit, file); !applied.ok())
    return Fail(applied.error().With(EditText(edit)));
  return CheckContents(file);
}

Status State::Applier::operator()(const SetExtents& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  return ApplyExtents(edit, *file, effects_);
}

Status State::Applier::operator()(const SealLog& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  if (edit.next_sequence < file->next_sequence) {
    return Fail(Code::kCorruption, fmt::format("its next frame is {} already", file->next_sequence));
  }
  ZENFS_RETURN_IF_ERROR(CheckWindows(edit.windows, state_.epoch_, edit.next_sequence));
  file->shape = FileShape::kFramed;
  file->SetWindows(edit.windows);
  file->next_sequence = edit.next_sequence;
  file->size = edit.size;
  file->mtime_seconds = edit.mtime_seconds;
  return {};
}

Status State::Applier::operator()(const SetLifetime& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  file->lifetime = edit.lifetime;
  return {};
}

// --- log zones, counters and places ---

Status State::Applier::operator()(const AllocateLogZones& edit) {
  for (const LogZone& zone : edit.zones) {
    if (!state_.log_zones_.emplace(zone.zone, zone).second) {
      return Fail(Code::kCorruption, fmt::format("zone {} is a log zone already", zone.zone.value));
    }
    new_log_zones_.push_back(zone.zone);
  }
  return {};
}

Status State::Applier::operator()(const ReleaseLogZones& edit) {
  for (const ZoneId zone : edit.zones) {
    if (state_.log_zones_.erase(zone) == 0) {
      return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
    }
  }
  return {};
}

Status State::Applier::operator()(const BeginEpoch& edit) {
  ZENFS_RETURN_IF_ERROR(CheckNumber("epoch", edit.epoch));
  if (edit.epoch <= state_.epoch_) {
    return Fail(Code::kCorruption, fmt::format("the epoch is {} already", state_.epoch_));
  }
  state_.epoch_ = edit.epoch;
  return {};
}

Status State::Applier::operator()(const RaiseCounters& edit) {
  ZENFS_RETURN_IF_ERROR(CheckNumber("id", edit.next_id));
  ZENFS_RETURN_IF_ERROR(CheckNumber("generation", edit.next_generation));
  state_.next_id_ = std::max(state_.next_id_, edit.next_id);
  state_.next_generation_ = std::max(state_.next_generation_, edit.next_generation);
  return {};
}

Status State::Applier::operator()(const SetBufferPlace& edit) {
  if (edit.place.size() > kMaxPlaceBytes) {
    return Fail(Code::kCorruption, fmt::format("the place of the append buffers has {} bytes, more than {}",
                                               edit.place.size(), kMaxPlaceBytes));
  }
  const bool has_key = !edit.key.empty();
  if (has_key ? edit.key.size() != kBufferKeyBytes || edit.place.empty() : edit.maker != 0) {
    return Fail(Code::kCorruption, "the key of the append buffers is invalid");
  }
  state_.buffers_ = edit;
  return {};
}

Status State::Applier::operator()(const MarkSyncZone& edit) {
  const auto found = state_.log_zones_.find(edit.zone);
  if (found == state_.log_zones_.end()) {
    return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", edit.zone.value));
  }
  if (edit.bytes == 0) {
    return Fail(Code::kCorruption, fmt::format("sync zone {} has no bytes", edit.zone.value));
  }
  found->second.sync_bytes = edit.bytes;
  return {};
}

Status State::Applier::operator()(const SetPairKey& edit) {
  if (edit.key.IsNil()) return Fail(Code::kCorruption, "the key of the pair of devices is empty");
  state_.pair_key_ = edit.key;
  return {};
}

// --- end of a commit ---

Status State::Applier::Finish() {
  for (const FileId id : new_directories_) {
    if (id.value >= state_.next_id_) {
      return Fail(Code::kCorruption,
                  fmt::format("directory id {} was never allocated (next is {})", id.value, state_.next_id_));
    }
  }
  for (const ZoneId zone : new_log_zones_) {
    const auto found = state_.log_zones_.find(zone);
    if (found != state_.log_zones_.end() && found->second.generation >= state_.next_generation_) {
      return Fail(Code::kCorruption,
                  fmt::format("generation {} of log zone {} was never allocated (next is {})",
                              found->second.generation, zone.value, state_.next_generation_));
    }
  }
  for (const FileId id : order_) {
    Touched& touched = touched_.at(id);
    const FileRecord& record = *touched.record;
    ZENFS_RETURN_IF_ERROR(CheckChanged(record, touched.created, state_.next_id_));
    if (record.links == 0) {
      state_.files_.erase(id);
      if (effects_ != nullptr) {
        effects_->lost.insert(effects_->lost.end(), record.extents.begin(), record.extents.end());
        effects_->removed.push_back(id);
      }
      continue;
    }
    ZENFS_ASSERT(InOrder(record));
    state_.files_.insert_or_assign(id, std::move(touched.record));
    if (effects_ != nullptr) effects_->changed.push_back(id);
  }
  return {};
}

}  // namespace zenfs
