#include "backends/nvme/nvme_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libnvme.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string_view>

namespace zenfs {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// `other` with the numbers of `name`, if `name` is PREFIX, a number, "n" and a number.
std::string Renamed(std::string_view name, std::string_view prefix, std::string_view other) {
  if (!name.starts_with(prefix)) return {};
  const std::string_view numbers = name.substr(prefix.size());
  const std::size_t middle = numbers.find('n');
  if (middle == std::string_view::npos) return {};
  if (!IsNumber(numbers.substr(0, middle)) || !IsNumber(numbers.substr(middle + 1))) return {};
  return fmt::format("{}{}", other, numbers);
}

std::unexpected<Error> NoNamespace(const std::string& path, int os_errno = 0) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{} is not the character device of an NVMe namespace", path), os_errno);
}

// A device may name any path of the host as that of its other part, and to open a pipe or another device may wait or have effects.
// So the node is opened only if it is a character device, with the number of the kernel's node of that name if there is one.
Result<UniqueFd> OpenCharacterNode(const std::string& path, int flags) {
  const UniqueFd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat node{};
  if (!named.valid() || ::fstat(named.get(), &node) != 0) return FailErrno(errno, path);
  const std::string kernels = "/dev/" + std::filesystem::path(path).filename().string();
  struct stat known{};
  const bool other = ::stat(kernels.c_str(), &known) == 0 && known.st_rdev != node.st_rdev;
  if (!S_ISCHR(node.st_mode) || other) return NoNamespace(path);
  UniqueFd fd = UniqueFd::Reopened(named.get(), flags);
  if (!fd.valid()) return FailErrno(errno, path);
  return fd;
}

}  // namespace

std::string CharacterNodeOf(const std::string& block_name) { return Renamed(block_name, "nvme", "ng"); }
std::string BlockNodeOf(const std::string& character_name) { return Renamed(character_name, "ng", "nvme"); }

Result<NvmeNamespace> OpenNamespace(const std::string& path, int flags) {
  NvmeNamespace opened;
  opened.name = path;
  ZENFS_ASSIGN_OR_RETURN(opened.commands, OpenCharacterNode(path, flags));
  if (nvme_get_nsid(opened.commands.get(), &opened.id) != 0) return NoNamespace(path, errno);
  ZENFS_ASSIGN_OR_RETURN(opened.facts, IdentifyNamespace(path, opened.commands.get(), opened.id));
  return opened;
}

}  // namespace zenfs
