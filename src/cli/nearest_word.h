// The word that somebody most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zenfs {

// The candidate that differs least from `word`; "" if none is near: more than a third of the letters differ and neither
// begins with the other. Of equal ones the first.
[[nodiscard]] std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace zenfs
