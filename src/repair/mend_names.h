// Mends the tree of names of a draft: what has no name gets one in /lost+found, what leads nowhere goes.
#pragma once

#include <string>
#include <vector>

#include "model/state_draft.h"

namespace zenfs {

inline constexpr const char* kLostAndFound = "lost+found";

// The directory /lost+found, made if there is none; under another name where a file has that one.
FileId LostAndFound(StateDraft& draft);

// Puts a file into /lost+found under `name`, or a name like it that is free. Returns its path.
std::string PutIntoLostAndFound(StateDraft& draft, FileRecord file, const std::string& name);

// Appends a sentence for each change to `steps`. Afterwards every directory stands in its parent and every file has a
// name.
void MendNames(StateDraft& draft, std::vector<std::string>& steps);

}  // namespace zenfs
