// A state that may violate invariants, rebuilt from incomplete or damaged metadata. Edits are applied as far as they fit.
// The owner repairs the draft and converts it to a State.
//
// Unlike a State, a draft may have files and directories without a name, names of missing files, gaps between extents,
// extents that overlap or are outside the device, and windows out of order. It does not maintain `links`.
//
// Threads: a plain value.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "model/state.h"

namespace zenfs {

class StateDraft {
 public:
  StateDraft();
  explicit StateDraft(const State& state);

  // Applies one edit as far as it fits. Call it only before the members are changed by hand. Creates unknown files and directories, without a name. Returns one sentence about
  // the part that did not fit; empty if the whole edit was applied.
  std::string Apply(const Edit& edit);

  // Returns a free, valid name in `directory`: `wanted`, or `wanted` with ".1", ".2", ... appended, shortened if needed. The next
  // call for the same name goes on behind the last number, so a million files may want one name.
  std::string FreeName(FileId directory, const std::string& wanted);
  FileId NewId() { return FileId(next_id++); }

  // Converts the draft to a state. Errors: kCorruption if it violates an invariant.
  [[nodiscard]] Result<State> ToState() const;

  std::map<FileId, FileRecord> files;
  std::map<FileId, Directory> directories;  // always contains the root
  std::map<ZoneId, LogZone> log_zones;
  std::uint64_t epoch = 0;
  std::uint64_t next_id = 2;
  std::uint64_t next_generation = 1;
  SetBufferPlace buffers;
  Uuid pair_key;

 private:
  struct Applier;
  std::map<FileId, std::uint64_t> names_;  // number of entries of each id, by the edits so far
  // The last numbered name of FreeName.
  FileId numbered_in_;
  std::string numbered_;
  std::uint64_t number_ = 1;
};

}  // namespace zenfs
