// Text with colours, for a terminal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zenfs {

struct Style {
  // One of the 16 colours of terminals: 0 to 7, and 8 to 15 for their bright forms.
  std::int8_t colour = kUsualColour;
  bool reversed = false;
  bool bold = false;

  static constexpr std::int8_t kUsualColour = -1;
  bool operator==(const Style&) const = default;
};

// Made of runs of one style each.
//
// Invariant: the text has no control character but line ends. Foreign text goes through Printable (base/printable.h) first.
class StyledText {
 public:
  struct Run {
    std::size_t end;  // where the next run begins, in bytes
    Style style;
  };

  void Add(std::string_view text, Style style = {});
  void Add(const StyledText& text);

  // Without styles.
  const std::string& plain() const { return text_; }
  const std::vector<Run>& runs() const { return runs_; }

  // With the control sequences of ECMA-48, for a terminal.
  [[nodiscard]] std::string WithSequences() const;
  // The lines one by one, without line ends.
  [[nodiscard]] std::vector<StyledText> Lines() const;

 private:
  std::string text_;
  std::vector<Run> runs_;
};

// One or more lines of at most `columns` bytes each, broken at spaces if possible. Each has a line end.
[[nodiscard]] std::string Wrapped(std::string_view text, int columns);

}  // namespace zenfs
