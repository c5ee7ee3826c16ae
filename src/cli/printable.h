// Text that can't steer a terminal, and JSON that says which bytes it could not hold. Names, labels and messages hold
// what others wrote: a foreign image, a foreign backup. Pure. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace zenfs {

using Json = nlohmann::ordered_json;

// `text` with \xNN for each byte of a code point that a terminal obeys or hides, and for each byte that is not UTF-8:
// control characters (U+0000-001F, U+007F-009F), line and paragraph separators, bidirectional controls and marks, characters
// without width, tags, annotations, noncharacters. Printable(Printable(x)) == Printable(x).
[[nodiscard]] std::string Printable(std::string_view text);
// The same, but ends of lines and tabs stay.
[[nodiscard]] std::string PrintableLines(std::string_view text);

[[nodiscard]] bool IsUtf8(std::string_view text);

// `json`, an object, as text in ASCII. A string that is not UTF-8 has U+FFFD for what is not; then a last member "not_utf8"
// maps the JSON pointer (RFC 6901) of each such string to its bytes, percent-coded as paths in a backup's manifest.
[[nodiscard]] std::string JsonText(const Json& json, int indent);

}  // namespace zenfs
