// Paths in a manifest: any bytes, written so that every JSON reader gives them back. Control characters, '%' and
// bytes from 0x7f on are %XX, as in a URL (RFC 3986, section 2.1); all others stand for themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zenfs {

[[nodiscard]] std::string EncodePathText(std::string_view path);
// Nothing for a '%' without two hexadecimal digits behind it.
[[nodiscard]] std::optional<std::string> DecodePathText(std::string_view text);

// "a" and "b" to "a/b"; "b" for an empty "a", "/b" for "/".
[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace zenfs
