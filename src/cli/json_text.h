// JSON that marks strings with invalid UTF-8. Pure. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace zenfs {

using Json = nlohmann::ordered_json;

// Returns `json`, an object, as ASCII text. Invalid UTF-8 in a string becomes U+FFFD; then a last
// member "not_utf8" maps the JSON pointer (RFC 6901) of each such string to its bytes,
// percent-encoded like paths in a backup's manifest.
[[nodiscard]] std::string JsonText(const Json& json, int indent);

// The two halves of JsonText, for objects that are printed piece by piece. `pointer`: the JSON pointer of `json`, any value, in
// the whole object; `found` gets the members of "not_utf8".
[[nodiscard]] std::string JsonLines(const Json& json, int indent);
void NoteNotUtf8(const Json& json, const std::string& pointer, Json& found);

}  // namespace zenfs
