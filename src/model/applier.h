// Carries out the edits of one commit on a State: State::Apply in parts. Internal to model/.
//
// Files that a commit touches are copied once, changed here, and published as new immutable records by
// Finish, so a commit of many edits on one file copies it once.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/state.h"

namespace zenfs {

class State::Applier {
 public:
  // `effects` may be null. Both outlive the applier.
  Applier(State& state, Effects* effects) : state_(state), effects_(effects) {}

  // One overload for each edit. Names: applier_names.cc; contents: applier_files.cc; the rest: applier.cc.
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

  // What must hold at the end of a commit; then publishes the touched files and drops those without a name.
  Status Finish();

 private:
  struct Touched {
    FileRecord record;
    bool created = false;
  };

  // The working copy of a file, made at the first touch. Null: no such file.
  FileRecord* Touch(FileId id);
  bool IsFile(FileId id) const;
  bool IsUsed(FileId id) const;
  Directory* FindDirectory(FileId id);
  // The directory, if `name` may become an entry of it.
  Result<Directory*> ForNewEntry(FileId parent, std::string_view name);
  bool IsBelow(FileId directory, FileId ancestor) const;
  Status MakeRoomForRename(Directory& target, const std::string& name, FileId moved);

  Status CheckTouched(const Touched& touched) const;

  State& state_;
  Effects* effects_;
  std::unordered_map<FileId, Touched> touched_;
  std::vector<FileId> order_;  // of touched_, so that effects come in a fixed order
  std::vector<FileId> new_directories_;
  std::vector<ZoneId> new_log_zones_;
};

}  // namespace zenfs
