// Repairs the names of a draft: gives every file and directory without a name one in /lost+found,
// and removes names that refer to nothing.
#pragma once

#include <string>

#include "base/sentences.h"
#include "model/state_draft.h"

namespace zenfs {

inline constexpr const char* kLostAndFound = "lost+found";

// The directory /lost+found of a draft. Finds it once, because a repair may put a million files there.
class LostAndFound {
 public:
  // `draft` outlives it.
  explicit LostAndFound(StateDraft& draft) : draft_(draft) {}

  // Creates the directory if it does not exist. If a file has that name, the directory gets another one.
  FileId directory();
  // Enters `id` under `name`, or under a similar free name. Returns that name.
  std::string Enter(FileId id, const std::string& name);
  // The same for a file that the draft need not have. Returns its path.
  std::string Put(FileRecord file, const std::string& name);

 private:
  FileId FindOrMake();

  StateDraft& draft_;
  FileId directory_ = kNoFile;  // kNoFile: not found yet
};

// Appends a sentence to `steps` for each change. Afterwards every directory is in its parent and
// every file has a name.
void RepairNames(StateDraft& draft, Sentences& steps);

}  // namespace zenfs
