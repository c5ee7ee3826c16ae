#include "cli/json_text.h"

#include <fmt/format.h>

#include "backup/path_text.h"
#include "base/printable.h"

namespace zenfs {

void NoteNotUtf8(const Json& json, const std::string& pointer, Json& found) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (!IsUtf8(text)) found[pointer] = EncodePathText(text);
  } else if (json.is_structured()) {
    for (const auto& [key, value] : json.items())
      NoteNotUtf8(value, fmt::format("{}/{}", pointer, key), found);
  }
}

std::string JsonLines(const Json& json, int indent) {
  constexpr bool kAscii = true;
  return json.dump(indent, ' ', kAscii, Json::error_handler_t::replace);
}

std::string JsonText(const Json& json, int indent) {
  Json not_utf8 = Json::object();
  NoteNotUtf8(json, "", not_utf8);
  if (not_utf8.empty()) return JsonLines(json, indent);
  Json with_bytes = json;
  with_bytes["not_utf8"] = std::move(not_utf8);
  return JsonLines(with_bytes, indent);
}

}  // namespace zenfs
