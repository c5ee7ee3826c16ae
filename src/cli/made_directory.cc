#include "cli/made_directory.h"

#include <fmt/format.h>
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
  directory.path_ = absolute.string();
  fs::path at = absolute.root_path();
  for (const fs::path& part : absolute.relative_path()) {
    at /= part;
    if (fs::is_directory(at, error)) continue;
    if (fs::create_directory(at, error)) directory.made_.push_back(at.string());
    if (error == std::errc::file_exists) return FailErrno(ENOTDIR, at.string());
    if (error) return FailErrno(error.value(), fmt::format("create directory {}", at.string()));
  }
  return directory;
}

MadeDirectory::~MadeDirectory() {
  for (const std::string& path : made_ | std::views::reverse) ::rmdir(path.c_str());
}

}  // namespace zenfs
