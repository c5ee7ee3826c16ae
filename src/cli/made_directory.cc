#include "cli/made_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <ranges>
#include <system_error>

#include "base/host_directory.h"

namespace zenfs {

namespace {

constexpr mode_t kMode =
    0755;  // not writable by others, whatever the umask: the plugin refuses such a directory

}  // namespace

Result<MadeDirectory> MadeDirectory::Ensure(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (path.empty() || error) return Fail(Code::kInvalidArgument, fmt::format("'{}' is no directory", path));
  if (!absolute.has_filename() && absolute.has_relative_path()) absolute = absolute.parent_path();
  MadeDirectory directory;
  directory.path_ = absolute.string();
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory root, HostDirectory::OpenTrusted("/"));
  if (absolute.has_relative_path()) {
    ZENFS_ASSIGN_OR_RETURN(const HostDirectory entered,
                           root.EnterTrusted(absolute.relative_path().string(), kMode, &directory.made_));
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, entered.StatSelf());
    if ((stat.mode & S_IWOTH) != 0) {
      return Fail(Code::kPermission,
                  fmt::format("{}: all users may make files in it, and could keep the database from opening; "
                              "name a directory in it",
                              directory.path_));
    }
  }
  return directory;
}

MadeDirectory::~MadeDirectory() {
  for (const std::string& path : made_ | std::views::reverse) ::rmdir(path.c_str());
}

}  // namespace zenfs
