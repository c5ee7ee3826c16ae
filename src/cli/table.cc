#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {
namespace {

constexpr std::size_t kGap = 2;  // between columns

std::string Blocks(std::span<const TextColumn> titles, const std::vector<std::vector<std::string>>& rows) {
  std::size_t width = 0;
  for (const TextColumn& column : titles) width = std::max(width, column.title.size() + kGap);
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("{}{:<{}}{}\n", i == 0 ? "" : "  ", titles[i].title, width, row[i]);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string TextTable(std::span<const TextColumn> titles, const std::vector<std::vector<std::string>>& rows,
                      int columns) {
  std::vector<std::string> head;
  std::vector<std::size_t> widths;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    head.emplace_back(titles[i].title);
    widths.push_back(head[i].size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
    whole += widths[i] + kGap;
  }
  if (whole > static_cast<std::size_t>(columns) + kGap) return Blocks(titles, rows);
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += titles[i].right ? fmt::format("{:>{}}  ", row[i], widths[i])
                              : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(head);
  for (const auto& row : rows) add(row);
  return out + "\n";
}

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
