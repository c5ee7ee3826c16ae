// Text without effect on a terminal, and JSON that marks strings with invalid UTF-8. Names, labels
// and messages can contain foreign text: from an image or a backup that others made. Pure. Threads:
// any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace zenfs {

using Json = nlohmann::ordered_json;

// Returns `text` with \xNN for each byte of a code point that a terminal obeys or hides, and for
// each byte that is not UTF-8: control characters (U+0000-001F, U+007F-009F), line and paragraph
// separators, bidirectional controls and marks, characters without width, tags, annotations,
// noncharacters. Printable(Printable(x)) == Printable(x).
[[nodiscard]] std::string Printable(std::string_view text);
// The same, but keeps line ends and tabs.
[[nodiscard]] std::string PrintableLines(std::string_view text);

[[nodiscard]] bool IsUtf8(std::string_view text);

// Returns `json`, an object, as ASCII text. Invalid UTF-8 in a string becomes U+FFFD; then a last
// member "not_utf8" maps the JSON pointer (RFC 6901) of each such string to its bytes,
// percent-encoded like paths in a backup's manifest.
[[nodiscard]] std::string JsonText(const Json& json, int indent);

}  // namespace zenfs
