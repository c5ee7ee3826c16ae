#include "backends/zonefs/zonefs_mount.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace zenfs {
namespace {

// The kernel writes space, tab, newline and backslash in a path as a backslash and three octal
// digits (proc(5)).
std::string Unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    unsigned code = 0;
    if (text.size() >= 4 && text[0] == '\\' &&
        std::from_chars(text.data() + 1, text.data() + 4, code, 8).ptr == text.data() + 4) {
      plain.push_back(static_cast<char>(code));
      text.remove_prefix(4);
    } else {
      plain.push_back(text.front());
      text.remove_prefix(1);
    }
  }
  return plain;
}

bool HasOption(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    if (options.substr(0, end) == wanted) return true;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

std::optional<dev_t> ParseDevice(const std::string& text) {
  unsigned major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto colon = std::from_chars(text.data(), end, major);
  if (colon.ec != std::errc{} || colon.ptr == end || *colon.ptr != ':') return std::nullopt;
  const auto rest = std::from_chars(colon.ptr + 1, end, minor);
  if (rest.ec != std::errc{} || rest.ptr != end) return std::nullopt;
  return makedev(major, minor);
}

// 36 35 252:0 / /mnt/z rw,noatime shared:1 - zonefs /dev/nullb0 rw,errors=repair
//        dev     where options    tags       type   source      of the file system as a whole
std::optional<ZonefsMount> ParseLine(const std::string& line) {
  std::istringstream words(line);
  std::string id, parent, number, root, mountpoint, options, word, type, source, super_options;
  words >> id >> parent >> number >> root >> mountpoint >> options;
  while (words >> word && word != "-") {
  }
  words >> type >> source >> super_options;
  const std::optional<dev_t> device = ParseDevice(number);
  if (!words || type != "zonefs" || !device) return std::nullopt;
  return ZonefsMount{.mountpoint = Unescape(mountpoint),
                     .source = Unescape(source),
                     .device = *device,
                     .read_only = HasOption(options, "ro") || HasOption(super_options, "ro"),
                     .whole = root == "/"};
}

}  // namespace

std::vector<ZonefsMount> ZonefsMounts(const std::string& file) {
  std::vector<ZonefsMount> mounts;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (auto mount = ParseLine(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

namespace {

std::optional<std::uint32_t> ReadNumber(const std::string& disk, const std::string& file,
                                        const std::string& sysfs) {
  std::ifstream text(sysfs + "/fs/zonefs/" + disk + "/" + file);
  std::uint32_t number = 0;
  if (text >> number) return number;
  return std::nullopt;
}

}  // namespace

ZonefsLimits ReadZonefsLimits(const std::string& disk, const BlockFacts* facts, const std::string& sysfs) {
  const auto open = ReadNumber(disk, "max_wro_seq_files", sysfs);
  const auto active = ReadNumber(disk, "max_active_seq_files", sysfs);
  if (open && active) {
    // Older kernels report 0 for a disk over others; host/block_facts.h then has the limits of the
    // disks below.
    const auto known = [](std::uint32_t said, std::uint32_t found) { return said != 0 ? said : found; };
    return {.max_open = known(*open, facts == nullptr ? 0 : facts->max_open),
            .max_active = known(*active, facts == nullptr ? 0 : facts->max_active),
            .known = true,
            .kept_by_zonefs = *open != 0 || *active != 0};
  }
  if (facts != nullptr && facts->model != ZonedModel::kNotZoned) {
    return {.max_open = facts->max_open, .max_active = facts->max_active, .known = true};
  }
  return {};
}

std::optional<std::uint32_t> ActiveZoneFiles(const std::string& disk, const std::string& sysfs) {
  return ReadNumber(disk, "nr_active_seq_files", sysfs);
}

namespace {

std::optional<ZoneId> EmptyZone(const ZoneFiles& files) {
  for (std::uint32_t i = 0; i < files.count(); ++i) {
    const Result<ZoneFileState> state = files.Look(ZoneId(i));
    if (state && state->access == ZoneAccess::kWritable && state->size == 0) return ZoneId(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<bool> IsExplicitOpen(const ZoneFiles& files, const ActiveCount& active,
                                   std::uint32_t max_active) {
  const std::optional<std::uint32_t> before = active();
  if (!before || (max_active != 0 && *before >= max_active)) return std::nullopt;
  const std::optional<ZoneId> zone = EmptyZone(files);
  if (!zone) return std::nullopt;
  const Result<UniqueFd> fd = files.OpenToWrite(*zone);
  if (!fd) {
    // Only an open that also opens the zone can exceed a limit.
    if (fd.error().code() == Code::kBusy) return true;
    return std::nullopt;
  }
  const std::optional<std::uint32_t> after = active();
  if (!after) return std::nullopt;
  return *after > *before;
}

}  // namespace zenfs
