// Finds the word that the user most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zenfs {

// The candidate with the smallest distance to `word`; the first of equal ones. "" if more than a
// third of the letters differ and neither word begins with the other.
[[nodiscard]] std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace zenfs
