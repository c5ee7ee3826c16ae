// Applies the edits of one commit to a State; the implementation of State::Apply. Internal to model/.
//
// The first edit of a file copies its record, unless nobody else has it: then a commit on a file of many extents costs as
// much as one on a file of few. Later edits change the copy, and Finish publishes it as an immutable record.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/state.h"

namespace zenfs {

class State::Applier {
 public:
  // `effects` may be null. `state` and `effects` must outlive the applier.
  Applier(State& state, Effects* effects) : state_(state), effects_(effects) {}

  // One overload for each kind of edit. Names: applier_names.cc; contents: applier_files.cc; the others: applier.cc.
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

}  // namespace zenfs
