// Values as lines for people: rows as a table, and named values one below the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console.h"

namespace zenfs {

struct TextColumn {
  std::string_view title;
  bool right = false;  // numbers
};

// Pure. One line per row below a line of titles. If that is wider than `columns`, a block of lines per
// row. Each row has as many cells as `titles`. A line without text ends it.
[[nodiscard]] std::string TextTable(std::span<const TextColumn> titles,
                                    const std::vector<std::vector<std::string>>& rows, int columns);

// A list of named values, printed as aligned lines or as one JSON object.
class Figures {
 public:
  // `shown`: the text of the line; without it, the value itself.
  void Add(std::string title, const std::string& key, Json value, std::string shown);
  void Add(std::string title, const std::string& key, Json value);

  void Print(Console& console, bool json) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
  Json json_ = Json::object();
};

}  // namespace zenfs
