#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "backends/zonefs/zonefs_device.h"

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

}  // namespace zenfs
