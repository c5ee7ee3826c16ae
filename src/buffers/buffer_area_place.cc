#include "buffers/buffer_area_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/host_directory.h"

namespace zenfs {
namespace {

constexpr std::string_view kStart = "zenfs-";
constexpr std::size_t kDigits = 16;

}  // namespace

std::string BufferAreaPlace::ToText() const { return boot + " " + path; }

std::optional<BufferAreaPlace> BufferAreaPlace::Parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const std::string_view path = text.substr(space + 1);
  if (!path.starts_with('/') || !IsInnerPath(path.substr(1)) ||
      !IsBufferAreaName(path.substr(path.rfind('/') + 1))) {
    return std::nullopt;
  }
  return BufferAreaPlace{.boot = std::string(text.substr(0, space)), .path = std::string(path)};
}

std::string BufferAreaNamePrefix(std::string_view identity) {
  return fmt::format("{}{:08x}{:08x}-", kStart, Crc32c(AsBytes(identity)), Crc32c(AsBytes(identity), 1));
}

bool IsBufferAreaName(std::string_view name) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == kStart.size() + 2 * kDigits + 1 && name.starts_with(kStart) &&
         std::ranges::all_of(name.substr(kStart.size(), kDigits), is_hex) &&
         name[kStart.size() + kDigits] == '-' &&
         std::ranges::all_of(name.substr(kStart.size() + kDigits + 1), is_hex);
}

}  // namespace zenfs
