// Paths in a manifest: any bytes, encoded so that every JSON reader returns them unchanged. Control
// characters, '%' and bytes from 0x7f on are %XX, as in a URL (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zenfs {

[[nodiscard]] std::string EncodePathText(std::string_view path);
// Returns nothing for a '%' without two hexadecimal digits after it.
[[nodiscard]] std::optional<std::string> DecodePathText(std::string_view text);

// Joins "a" and "b" to "a/b"; returns "b" for an empty "a", "/b" for "/".
[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace zenfs
