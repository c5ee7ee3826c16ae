// Repairs the names of a draft: gives every file and directory without a name one in /lost+found,
// and removes names that refer to nothing.
#pragma once

#include <string>

#include "base/sentences.h"
#include "model/state_draft.h"

namespace zenfs {

inline constexpr const char* kLostAndFound = "lost+found";

// Returns the directory /lost+found, and creates it if it does not exist. If a file has that name,
// the directory gets another one.
FileId LostAndFound(StateDraft& draft);

// Puts a file into /lost+found under `name`, or under a similar free name. Returns its path.
std::string PutIntoLostAndFound(StateDraft& draft, FileRecord file, const std::string& name);

// Appends a sentence to `steps` for each change. Afterwards every directory is in its parent and
// every file has a name.
void RepairNames(StateDraft& draft, Sentences& steps);

}  // namespace zenfs
