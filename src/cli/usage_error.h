// Messages for a wrong use of a verb: what was wrong and what is right. CLI11's own texts name
// neither the form of a value nor the word that was meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace zenfs {

// `app`: the verb's app. `error`: thrown by its parse.
[[nodiscard]] std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error);

// For an unknown flag, or one word too many. `shown`: the word as it was typed.
[[nodiscard]] std::string DescribeExtraWord(const CLI::App& app, const std::string& shown);

// For `words`, not empty, whose beginning names no verb.
[[nodiscard]] std::string DescribeUnknownVerb(const std::vector<std::string>& words);

}  // namespace zenfs
