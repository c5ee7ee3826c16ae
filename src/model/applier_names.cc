// State::Applier: edits that change names.
#include <fmt/format.h>

#include "model/applier.h"

namespace zenfs {

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

}  // namespace zenfs
