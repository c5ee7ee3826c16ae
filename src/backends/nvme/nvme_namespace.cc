#include "backends/nvme/nvme_namespace.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libnvme.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include "backends/nvme/nvme_status.h"

namespace zenfs {
namespace {

// The unit of MDTS and ZASL is the smallest page of the controller (CAP.MPSMIN), which passthrough can't read. No
// controller may have less, so this is never too long.
constexpr std::uint64_t kSmallestPage = 4096;

std::uint64_t InPages(std::uint8_t exponent) {
  return exponent == 0 || exponent > 40 ? 0 : kSmallestPage << exponent;
}

// Zeroes-based, all ones: no limit.
std::uint32_t Limit(__le32 resources) {
  const std::uint32_t value = le32toh(resources);
  return value == ~std::uint32_t{0} ? 0 : value + 1;
}

// FLBAS: bits 0 to 3 and 5 to 6 are the index of the format.
std::size_t FormatIndex(const nvme_id_ns& ns) { return (ns.flbas & 0xfu) | ((ns.flbas >> 5 & 0x3u) << 4); }

void AddCopies(const IdentifyData& data, NamespaceFacts& facts) {
  constexpr unsigned kFormat0 = 1u;  // OCFS
  if ((le16toh(data.controller.oncs) & NVME_CTRL_ONCS_COPY) == 0) return;
  if ((le16toh(data.controller.ocfs) & kFormat0) == 0) return;
  const std::uint64_t range = le16toh(data.name_space.mssrl) * std::uint64_t{facts.block_size};
  const std::uint64_t ranges = std::uint64_t{data.name_space.msrc} + 1;
  const std::uint64_t longest = le32toh(data.name_space.mcl) * std::uint64_t{facts.block_size};
  if (range == 0 || longest == 0) return;
  facts.longest_copy = std::min(longest, range * ranges);
  facts.longest_copy_range = range;
}

void AddRandomArea(const nvme_zns_id_ns& zoned, NamespaceFacts& facts) {
  constexpr unsigned kSupported = 1u << 1;  // OZCS
  constexpr unsigned kExplicitCommit = 1u;  // ZRWACAP
  const std::uint64_t area = le16toh(zoned.zrwasz) * std::uint64_t{facts.block_size};
  const std::uint64_t unit = le16toh(zoned.zrwafg) * std::uint64_t{facts.block_size};
  if ((le16toh(zoned.ozcs) & kSupported) == 0 || (zoned.zrwacap & kExplicitCommit) == 0) return;
  if (zoned.numzrwa == 0 || area == 0 || unit == 0 || area % unit != 0) return;
  facts.random_area = area;
  facts.random_unit = unit;
  facts.random_zones = le32toh(zoned.numzrwa);
}

// `answer`: see NvmeResult.
Status Answered(const std::string& name, int answer) {
  const CommandResult result = NvmeResult(answer);
  if (result.ok()) return {};
  return FailErrno(result.os_errno,
                   WithStatus(fmt::format("{}: its identify data can't be read", name), result.status));
}

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

Result<NamespaceFacts> FactsOf(const std::string& name, const IdentifyData& data) {
  const std::size_t index = FormatIndex(data.name_space);
  const nvme_lbaf& format = data.name_space.lbaf[index];
  if (const unsigned metadata = le16toh(format.ms); metadata != 0) {
    return Fail(
        Code::kNotSupported,
        fmt::format("{}: its blocks have {} bytes of metadata each; format it without: nvme format -l "
                    "(this erases it)",
                    name, metadata));
  }
  if (format.ds < 9 || format.ds > 16) {
    return Fail(Code::kCorruption, fmt::format("{}: its blocks have 2^{} bytes", name, format.ds));
  }
  NamespaceFacts facts;
  facts.block_size = std::uint32_t{1} << format.ds;
  facts.size = le64toh(data.name_space.nsze) * facts.block_size;
  facts.zone_size = le64toh(data.zoned_namespace.lbafe[index].zsze) * facts.block_size;
  if (facts.zone_size == 0 || facts.size < facts.zone_size) {
    return Fail(Code::kCorruption,
                fmt::format("{}: its zones have {} bytes and it has {}", name, facts.zone_size, facts.size));
  }
  facts.max_open = Limit(data.zoned_namespace.mor);
  facts.max_active = Limit(data.zoned_namespace.mar);
  facts.longest_command = InPages(data.controller.mdts);
  const std::uint64_t append = InPages(data.zoned_controller.zasl);
  facts.longest_append = append == 0 ? facts.longest_command : append;
  facts.volatile_cache = (data.controller.vwc & 1u) != 0;
  AddCopies(data, facts);
  AddRandomArea(data.zoned_namespace, facts);
  return facts;
}

Result<NamespaceFacts> IdentifyNamespace(const std::string& name, int fd, std::uint32_t nsid) {
  struct Answers {  // 16 KiB, too much for the stack of a thread that a program made
    nvme_id_ctrl controller;
    nvme_id_ns name_space;
    nvme_zns_id_ctrl zoned_controller;
    nvme_zns_id_ns zoned_namespace;
  };
  const auto answers = std::make_unique<Answers>();
  ZENFS_RETURN_IF_ERROR(Answered(name, nvme_identify_ctrl(fd, &answers->controller)));
  ZENFS_RETURN_IF_ERROR(Answered(name, nvme_identify_ns(fd, nsid, &answers->name_space)));
  ZENFS_RETURN_IF_ERROR(Answered(name, nvme_zns_identify_ctrl(fd, &answers->zoned_controller)));
  ZENFS_RETURN_IF_ERROR(Answered(name, nvme_zns_identify_ns(fd, nsid, &answers->zoned_namespace)));
  return FactsOf(name, {.controller = answers->controller,
                        .name_space = answers->name_space,
                        .zoned_controller = answers->zoned_controller,
                        .zoned_namespace = answers->zoned_namespace});
}

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
