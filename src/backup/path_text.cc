#include "backup/path_text.h"

#include <fmt/format.h>

#include <charconv>

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

}  // namespace zenfs
