#include "cli/nearest_word.h"

#include <algorithm>
#include <vector>

namespace zenfs {
namespace {

constexpr std::size_t kWordMax = 64;  // longer words have no suggestion; bounds the table below

// Levenshtein distance: letters to insert, delete or replace.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> candidates) {
  std::string nearest;
  if (word.size() < 2 || word.size() > kWordMax) return nearest;
  std::size_t least = word.size();
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(word, candidate);
    const bool is_near = distance <= std::max<std::size_t>(1, word.size() / 3) ||
                         candidate.starts_with(word) || word.starts_with(candidate);
    if (!is_near || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace zenfs
