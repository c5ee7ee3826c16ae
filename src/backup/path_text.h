// Paths in a manifest: any bytes, encoded so that every JSON reader returns them unchanged. Control
// characters, '%' and bytes from 0x7f on are %XX, as in a URL (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace zenfs {

[[nodiscard]] std::string EncodePathText(std::string_view path);
// Returns nothing for a '%' without two hexadecimal digits after it.
[[nodiscard]] std::optional<std::string> DecodePathText(std::string_view text);

// Joins "a" and "b" to "a/b"; returns "b" for an empty "a", "/b" for "/".
[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);

// Errors: kInvalidArgument if the path, or a name in it, is longer than a volume takes (model/edit.h).
[[nodiscard]] Status CheckPathLimits(std::string_view path);

}  // namespace zenfs
