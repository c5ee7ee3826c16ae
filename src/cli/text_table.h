// Rows of text as a table for people. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zenfs {

struct TextColumn {
  std::string_view title;
  bool right = false;  // numbers
};

// One line per row below a line of titles. If that is wider than `columns`, a block of lines per
// row. Each row has as many cells as `titles`. A line without text ends it.
[[nodiscard]] std::string TextTable(std::span<const TextColumn> titles,
                                    const std::vector<std::vector<std::string>>& rows, int columns);

}  // namespace zenfs
