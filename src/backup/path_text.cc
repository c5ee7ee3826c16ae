#include "backup/path_text.h"

#include <fmt/format.h>

#include <charconv>

#include "catalog/path.h"
#include "model/edit.h"

namespace zenfs {

std::string EncodePathText(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '%') {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> DecodePathText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (text.size() - i < 3) return std::nullopt;
    const char* const digits = text.data() + i + 1;
    const auto parsed = std::from_chars(digits, digits + 2, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  const bool slash = directory.empty() || directory.ends_with('/');
  return fmt::format("{}{}{}", directory, slash ? "" : "/", name);
}

Status CheckPathLimits(std::string_view path) {
  if (path.size() > kMaxPathBytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("its path has {} bytes; the limit is {}", path.size(), kMaxPathBytes));
  }
  for (const std::string_view part : SplitPath(path)) {
    if (part.size() <= kMaxNameBytes) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("a name in its path has {} bytes; the limit is {}", part.size(), kMaxNameBytes));
  }
  return {};
}

}  // namespace zenfs
