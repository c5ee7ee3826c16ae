#include "rocksdb_plugin/default_device.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "backends/device_uri.h"
#include "base/environment.h"

namespace zenfs {

namespace {

bool IsBelow(const std::string& path, const std::string& directory) {
  if (directory == "/" || path == directory) return true;
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

Result<std::string> PrefixOf(std::string_view text) {
  const std::string path(text);
  const auto refuse = [&](std::string_view reason) {
    return Fail(Error(Code::kInvalidArgument, fmt::format("ZENFS_DEFAULT_PREFIX: {}: {}", path, reason))
                    .Advise("name existing directories by absolute paths, with ':' between them"));
  };
  if (!path.starts_with('/')) return refuse("not an absolute path");
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0)
    return Fail(ErrnoError(errno, fmt::format("ZENFS_DEFAULT_PREFIX: {}", path)));
  if (!S_ISDIR(st.st_mode)) return refuse("not a directory");
  return PathOnHost(path);
}

// The path of a name in an existing directory, unless the name is a link or none. This is what RocksDB asks for most, and twice as
// fast as the general way.
std::optional<std::string> PathOfNewOrRegular(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return {};
  struct stat st{};
  if (::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) return {};
  const std::string parent =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  char resolved[PATH_MAX];
  if (::realpath(parent.c_str(), resolved) == nullptr) return {};
  std::string absolute = resolved;
  if (!absolute.ends_with('/')) absolute += '/';
  return absolute + name;
}

}  // namespace

bool DefaultDevice::Covers(const std::string& absolute) const {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return IsBelow(absolute, prefix); });
}

std::pair<dev_t, ino_t> DefaultDevice::RootOfProcess() {
  struct stat st{};
  if (::stat("/", &st) != 0) return {};
  return {st.st_dev, st.st_ino};
}

Status DefaultDevice::CheckPrefixes() const {
  if (root != RootOfProcess()) {
    return Fail(Error(Code::kInvalidArgument,
                      "ZENFS_DEFAULT_PREFIX: this process has changed its root directory (chroot)")
                    .Advise("leave ZENFS_DEFAULT_PREFIX out"));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Result<std::string> now = PathOnHost(given[i]);
    if (!now || *now == prefixes[i]) continue;
    return Fail(
        Error(Code::kInvalidArgument, fmt::format("ZENFS_DEFAULT_PREFIX: {} was {} when the program began, "
                                                  "and is {} now",
                                                  given[i], prefixes[i], *now))
            .Advise("start the program again"));
  }
  return {};
}

Result<std::string> PathOnHost(const std::string& path) {
  if (std::optional<std::string> known = PathOfNewOrRegular(path)) return *std::move(known);
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  if (!error) absolute = fs::weakly_canonical(absolute, error);
  if (error) return FailErrno(error.value(), path);
  std::string text = absolute.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::string DirectoryOf(const std::string& absolute) {
  return absolute.substr(0, std::max<std::size_t>(absolute.rfind('/'), 1));
}

Result<std::optional<DefaultDevice>> DefaultDeviceOfEnvironment() {
  std::string_view prefixes = EnvironmentVariable("ZENFS_DEFAULT_PREFIX");
  DefaultDevice device{.uri = std::string(EnvironmentVariable("ZENFS_DEFAULT_URI")), .prefixes = {}};
  if (device.uri.empty() && prefixes.empty()) return std::nullopt;
  if (device.uri.empty())
    return Fail(Code::kInvalidArgument, "ZENFS_DEFAULT_PREFIX is set, and ZENFS_DEFAULT_URI is not");
  ZENFS_RETURN_IF_ERROR(ParseDeviceUri(device.uri));
  if (prefixes.empty()) prefixes = "/";
  while (!prefixes.empty()) {
    const std::string_view one = prefixes.substr(0, prefixes.find(':'));
    prefixes.remove_prefix(std::min(one.size() + 1, prefixes.size()));
    if (one.empty()) continue;
    ZENFS_ASSIGN_OR_RETURN(std::string prefix, PrefixOf(one));
    for (const std::string& other : device.prefixes) {
      if (!IsBelow(prefix, other) && !IsBelow(other, prefix)) continue;
      return Fail(Code::kInvalidArgument,
                  fmt::format("ZENFS_DEFAULT_PREFIX: {} and {}: one is in the other", other, prefix));
    }
    device.prefixes.push_back(std::move(prefix));
    device.given.emplace_back(one);
  }
  if (device.prefixes.empty()) return Fail(Code::kInvalidArgument, "ZENFS_DEFAULT_PREFIX names no directory");
  return device;
}

}  // namespace zenfs
