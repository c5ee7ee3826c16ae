// Numbers of things in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zenfs {

// "1 file", "2 files", "0 files". `many` is for nouns that take more than an s.
[[nodiscard]] std::string Counted(std::uint64_t n, std::string_view one, std::string_view many = {});

}  // namespace zenfs
