// Counts with singular or plural nouns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zenfs {

// "1 file", "2 files", "0 files". `many`: the plural, if it is not `one` with an s.
[[nodiscard]] std::string Counted(std::uint64_t n, std::string_view one, std::string_view many = {});

}  // namespace zenfs
