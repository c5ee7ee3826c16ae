#include "backends/nvme/nvme_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libnvme.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
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

}  // namespace

std::string CharacterNodeOf(const std::string& block_name) { return Renamed(block_name, "nvme", "ng"); }
std::string BlockNodeOf(const std::string& character_name) { return Renamed(character_name, "ng", "nvme"); }

Result<NvmeNamespace> OpenNamespace(const std::string& path, int flags) {
  NvmeNamespace opened;
  opened.name = path;
  opened.commands = UniqueFd::Opened([&] { return ::open(path.c_str(), flags | O_CLOEXEC); });
  if (!opened.commands.valid()) return FailErrno(errno, path);
  if (nvme_get_nsid(opened.commands.get(), &opened.id) != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} is not the character device of an NVMe namespace", path), errno);
  }
  ZENFS_ASSIGN_OR_RETURN(opened.facts, IdentifyNamespace(path, opened.commands.get(), opened.id));
  return opened;
}

}  // namespace zenfs
