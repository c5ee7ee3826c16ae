// A state that need not be sound: what can be put together of a volume's metadata when some of it is lost, or breaks
// invariants. Edits are applied as far as they fit; who holds the draft mends it and turns it into a State.
//
// Beyond a State it may have: files and directories without a name, names that lead nowhere, gaps between extents,
// extents that overlap or lie outside the device, windows out of order. `links` of a record is not kept.
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

  // Carries out what fits of one edit. A file that is not known begins to exist, without a name. Returns what did not
  // fit, one sentence; empty when all did.
  std::string Apply(const Edit& edit);

  // A name in `directory` that is free: `wanted`, else with ".1", ".2", ... behind it. Not longer than a name may be.
  std::string FreeName(FileId directory, const std::string& wanted) const;
  FileId NewId() { return FileId(next_id++); }

  // The draft as a state. Errors: kCorruption, in words, when it is not sound.
  [[nodiscard]] Result<State> ToState() const;

  std::map<FileId, FileRecord> files;
  std::map<FileId, Directory> directories;  // the root among them, always
  std::map<ZoneId, LogZone> log_zones;
  std::uint64_t epoch = 0;
  std::uint64_t next_id = 2;
  std::uint64_t next_generation = 1;
  SetBufferPlace buffers;

 private:
  struct Applier;
};

}  // namespace zenfs
