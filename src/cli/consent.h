// What the verbs that rewrite the metadata of a volume have in common: the question before it, and the copy of the old metadata.
#pragma once

#include <string>

#include "base/status.h"
#include "base/uuid.h"
#include "cli/console.h"

namespace zenfs {

// Asks on the terminal whether to go on, unless `yes`. Errors: kInvalidArgument if there is no terminal to ask on, or the output
// is for a program (`json`).
[[nodiscard]] Result<bool> MayGoOn(Console& console, bool yes, bool json);

// The default name for the copy: of volume and time, in the current directory.
[[nodiscard]] std::string DefaultSaveFile(const Uuid& uuid);

}  // namespace zenfs
