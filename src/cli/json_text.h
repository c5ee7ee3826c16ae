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

}  // namespace zenfs
