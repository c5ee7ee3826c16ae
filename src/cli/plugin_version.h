// ZenFS's own plugin: where it is, and which version. To ask it, its code and that of its libraries runs in a child process.
//
// Threads: none; a process without other threads calls it.
#pragma once

#include <string>

#include "base/status.h"

namespace zenfs {

inline constexpr const char* kPluginName = "libzenfs.so";

// The path of the plugin beside this command; else its name, for the loader. A file beside the command is taken only if it belongs to the
// command's user, the caller or root, and not all users may write to it: the command may be in a directory like /tmp.
[[nodiscard]] std::string PluginBesideCommand();

// What the plugin says of itself: "3.0.0 for RocksDB 7.8.3". `library`: a path, or a name for the loader. Errors: kNotFound, with the words of
// the loader; kTimedOut after 30 seconds.
[[nodiscard]] Result<std::string> VersionOfPlugin(const std::string& library);

}  // namespace zenfs
