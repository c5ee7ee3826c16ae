#include "cli/json.h"

#include <fmt/format.h>

#include <utility>

#include "backup/record_text.h"
#include "base/assert.h"
#include "base/printable.h"
#include "cli/console.h"

namespace zenfs {
namespace {

constexpr int kIndent = 2;

// `pointer`: the JSON pointer of `json`, any value, in the whole object; `found` gets the members of "not_utf8".
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

}  // namespace

std::string JsonText(const Json& json, int indent) {
  Json not_utf8 = Json::object();
  NoteNotUtf8(json, "", not_utf8);
  if (not_utf8.empty()) return JsonLines(json, indent);
  Json with_bytes = json;
  with_bytes["not_utf8"] = std::move(not_utf8);
  return JsonLines(with_bytes, indent);
}

JsonStream::JsonStream(Console& console) : console_(console) {
  levels_.push_back({});
  Write("{");
}

void JsonStream::Member(std::string_view key, const Json& value) {
  ZENFS_ASSERT(levels_.back().closed_by == '}');
  Begin();
  WriteKey(key);
  WriteValue(value, PointerTo(key));
}

void JsonStream::OpenObject(std::string_view key) {
  ZENFS_ASSERT(levels_.back().closed_by == '}');
  Begin();
  WriteKey(key);
  Open('{', '}', PointerTo(key));
}

void JsonStream::OpenArray(std::string_view key) {
  ZENFS_ASSERT(levels_.back().closed_by == '}');
  Begin();
  WriteKey(key);
  Open('[', ']', PointerTo(key));
}

void JsonStream::Element(const Json& value) {
  ZENFS_ASSERT(levels_.back().closed_by == ']');
  const std::string pointer = PointerTo(fmt::to_string(levels_.back().count));
  Begin();
  WriteValue(value, pointer);
}

void JsonStream::OpenElement() {
  ZENFS_ASSERT(levels_.back().closed_by == ']');
  std::string pointer = PointerTo(fmt::to_string(levels_.back().count));
  Begin();
  Open('{', '}', std::move(pointer));
}

void JsonStream::Close() {
  ZENFS_ASSERT(!levels_.empty());
  const Level closed = std::move(levels_.back());
  levels_.pop_back();
  if (closed.count != 0) Write(LineEnd());
  Write(std::string_view(&closed.closed_by, 1));
}

void JsonStream::End() {
  ZENFS_ASSERT(levels_.size() == 1);
  if (!not_utf8_.empty()) {
    const Json bytes = std::move(not_utf8_);
    Member("not_utf8", bytes);
  }
  Close();
  console_.Print(held_ + "\n");
  held_.clear();
}

void JsonStream::Open(char opened_by, char closed_by, std::string pointer) {
  Write(std::string_view(&opened_by, 1));
  levels_.push_back({.closed_by = closed_by, .pointer = std::move(pointer)});
}

std::string JsonStream::PointerTo(std::string_view key) const {
  return fmt::format("{}/{}", levels_.back().pointer, key);
}

void JsonStream::WriteKey(std::string_view key) { Write(fmt::format("\"{}\": ", key)); }

void JsonStream::Begin() {
  if (levels_.back().count++ != 0) Write(",");
  Write(LineEnd());
}

void JsonStream::WriteValue(const Json& value, const std::string& pointer) {
  NoteNotUtf8(value, pointer, not_utf8_);
  const std::string text = JsonLines(value, kIndent);
  const std::string line_end = LineEnd();
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    Write(std::string_view(text).substr(at, end - at));
    if (end == std::string::npos) return;
    Write(line_end);
    at = end + 1;
  }
}

void JsonStream::Write(std::string_view text) {
  held_ += text;
  if (held_.size() < kHeldBytes) return;
  console_.Print(held_);
  held_.clear();
}

std::string JsonStream::LineEnd() const { return "\n" + std::string(levels_.size() * kIndent, ' '); }

}  // namespace zenfs
