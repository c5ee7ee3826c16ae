// Short texts that users write for the program: configuration files and lists.
#pragma once

#include <string>
#include <string_view>

#include "base/host_file.h"
#include "base/status.h"

namespace zenfs {

struct TextFile {
  std::string text;
  HostStat stat;
};

// Reads a regular file of at most 1 MiB; `kind` names it in messages: "list of devices". /dev/null is an empty file. Waits for no
// terminal and no pipe. Errors: kInvalidArgument, kIsADirectory for anything else; those of the host. The text names the path.
[[nodiscard]] Result<TextFile> ReadTextFile(const std::string& path, std::string_view kind);

}  // namespace zenfs
