#include "cli/made_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <ranges>
#include <system_error>

namespace zenfs {

Result<MadeDirectory> MadeDirectory::Ensure(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (path.empty() || error) return Fail(Code::kInvalidArgument, fmt::format("'{}' is no directory", path));
  if (!absolute.has_filename() && absolute.has_relative_path()) absolute = absolute.parent_path();
  MadeDirectory directory;
  fs::path at = absolute.root_path();
  for (const fs::path& part : absolute.relative_path()) {
    at /= part;
    if (fs::is_directory(at, error)) continue;
    // Not writable by others, whatever the umask: the plugin refuses such a directory.
    if (::mkdir(at.c_str(), 0755) == 0) {
      directory.made_.push_back(at.string());
    } else if (errno == EEXIST) {
      return FailErrno(ENOTDIR, at.string());
    } else {
      return FailErrno(errno, fmt::format("create directory {}", at.string()));
    }
  }
  directory.path_ = fs::canonical(absolute, error).string();
  if (error) return FailErrno(error.value(), absolute.string());
  return directory;
}

MadeDirectory::~MadeDirectory() {
  for (const std::string& path : made_ | std::views::reverse) ::rmdir(path.c_str());
}

}  // namespace zenfs
