#include "questions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

namespace zenfs {
namespace {

constexpr std::size_t kCount = static_cast<std::size_t>(Question::kCount);
static_assert(std::size(kQuestions) == kCount);

std::array<bool, kCount>& Asked() {
  static std::array<bool, kCount> asked = [] {
    std::array<bool, kCount> from_table{};
    for (const QuestionLine& line : kQuestions)
      from_table[static_cast<std::size_t>(line.question)] = line.asked;
    return from_table;
  }();
  return asked;
}

}  // namespace

bool Asks(Question question) { return Asked()[static_cast<std::size_t>(question)]; }

Status Ask(const std::string& names) {
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    bool known = name == "all";
    for (const QuestionLine& line : kQuestions) {
      if (name != "all" && name != line.name) continue;
      Asked()[static_cast<std::size_t>(line.question)] = known = true;
    }
    if (known) continue;
    std::vector<std::string_view> all;
    std::ranges::transform(kQuestions, std::back_inserter(all), &QuestionLine::name);
    return Fail(Code::kInvalidArgument,
                fmt::format("there is no question '{}'; there are: {}", name, fmt::join(all, ", ")));
  }
  return {};
}

}  // namespace zenfs
