#include "cli/styled_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {
namespace {

constexpr int kColours = 8;  // each has a bright form

// The parameters of SGR (Select Graphic Rendition).
std::string Parameters(const Style& style) {
  std::string out;
  const auto add = [&out](int parameter) {
    if (!out.empty()) out += ';';
    out += fmt::to_string(parameter);
  };
  if (style.bold) add(1);
  if (style.reversed) add(7);
  if (style.colour >= kColours) {
    add(90 + style.colour - kColours);
  } else if (style.colour >= 0) {
    add(30 + style.colour);
  }
  return out;
}

}  // namespace

void StyledText::Add(std::string_view text, Style style) {
  if (text.empty()) return;
  text_ += text;
  if (!runs_.empty() && runs_.back().style == style) {
    runs_.back().end = text_.size();
  } else {
    runs_.push_back({text_.size(), style});
  }
}

void StyledText::Add(const StyledText& text) {
  std::size_t begin = 0;
  for (const Run& run : text.runs_) {
    Add(std::string_view(text.text_).substr(begin, run.end - begin), run.style);
    begin = run.end;
  }
}

std::string StyledText::WithSequences() const {
  std::string out;
  std::size_t begin = 0;
  for (const Run& run : runs_) {
    const std::string_view part = std::string_view(text_).substr(begin, run.end - begin);
    if (run.style == Style()) {
      out += part;
    } else {
      out += fmt::format("\033[{}m{}\033[0m", Parameters(run.style), part);
    }
    begin = run.end;
  }
  return out;
}

std::vector<StyledText> StyledText::Lines() const {
  std::vector<StyledText> lines;
  bool begins = true;
  std::size_t at = 0;
  for (const Run& run : runs_) {
    while (at < run.end) {
      if (begins) lines.emplace_back();
      const std::size_t line_end = std::min(run.end, text_.find('\n', at));
      lines.back().Add(std::string_view(text_).substr(at, line_end - at), run.style);
      begins = line_end < run.end;
      at = line_end + (begins ? 1 : 0);
    }
  }
  return lines;
}

std::string Wrapped(std::string_view text, int columns) {
  const auto width = static_cast<std::size_t>(std::max(1, columns));
  std::string out;
  while (text.size() > width) {
    const std::size_t space = text.rfind(' ', width);
    const bool at_space = space != std::string_view::npos && space > 0;
    out += text.substr(0, at_space ? space : width);
    out += '\n';
    text.remove_prefix(at_space ? space + 1 : width);
  }
  return out.append(text) + "\n";
}

}  // namespace zenfs
