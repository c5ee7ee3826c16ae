// What to tell somebody who called a verb in a wrong way: what was wrong, and how it is done. CLI11's own texts name
// neither the form of a value nor the word that was meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace zenfs {

// `app` is the verb's, `error` what its parse threw.
[[nodiscard]] std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error);

// A word that the verb does not take: a flag that it does not have, or one word too many. `shown` is as it was typed.
[[nodiscard]] std::string DescribeExtraWord(const CLI::App& app, const std::string& shown);

// No verb is named by the beginning of `words`, which is not empty.
[[nodiscard]] std::string DescribeUnknownVerb(const std::vector<std::string>& words);

}  // namespace zenfs
