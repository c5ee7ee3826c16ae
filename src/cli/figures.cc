#include "cli/figures.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {

void Figures::Add(std::string title, const std::string& key, Json value, std::string shown) {
  lines_.emplace_back(std::move(title), std::move(shown));
  json_[key] = std::move(value);
}

void Figures::Add(std::string title, const std::string& key, Json value) {
  std::string shown = value.is_string() ? value.get<std::string>() : JsonText(value, -1);
  Add(std::move(title), key, std::move(value), std::move(shown));
}

void Figures::Print(Console& console, bool json) const {
  if (json) {
    console.PrintJson(json_);
    return;
  }
  std::size_t width = 0;
  for (const auto& [title, shown] : lines_) width = std::max(width, title.size() + 1);
  for (const auto& [title, shown] : lines_) {
    console.Print(fmt::format("{:<{}}  {}\n", title + ":", width, Printable(shown)));
  }
}

}  // namespace zenfs
