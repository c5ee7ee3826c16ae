// The JSON that verbs print: ASCII, whatever bytes names have. Invalid UTF-8 in a string becomes U+FFFD; then a last member
// "not_utf8" of the object maps the JSON pointer (RFC 6901) of each such string to its bytes, percent-encoded like paths in a
// backup's manifest.
//
// Threads: any; a JsonStream, one at a time.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace zenfs {

class Console;

using Json = nlohmann::ordered_json;

// Returns `json`, an object, as text. Pure.
[[nodiscard]] std::string JsonText(const Json& json, int indent);

// Prints one JSON object piece by piece, so that a verb needs memory for one element and not for all. The text is the same as
// that of Console::PrintJson for the whole object.
//
// If a verb fails before End, at most the pieces beyond kHeldBytes were printed: short output is printed whole or not at all.
class JsonStream {
 public:
  static constexpr std::size_t kHeldBytes = 64 << 10;

  // `console` outlives it.
  explicit JsonStream(Console& console);

  // In an object.
  void Member(std::string_view key, const Json& value);
  void OpenObject(std::string_view key);
  void OpenArray(std::string_view key);
  // In an array.
  void Element(const Json& value);
  void OpenElement();  // an object
  // Closes the innermost object or array.
  void Close();
  // After all others are closed.
  void End();

 private:
  struct Level {
    char closed_by = '}';
    std::string pointer;  // JSON pointer
    std::size_t count = 0;
  };

  void Open(char opened_by, char closed_by, std::string pointer);
  std::string PointerTo(std::string_view key) const;
  void WriteKey(std::string_view key);
  // Begins a member or element: comma, line end and indent.
  void Begin();
  void WriteValue(const Json& value, const std::string& pointer);
  void Write(std::string_view text);
  std::string LineEnd() const;

  Console& console_;
  std::vector<Level> levels_;
  std::string held_;
  Json not_utf8_ = Json::object();
};

}  // namespace zenfs
