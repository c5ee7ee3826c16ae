// Flags that several verbs share.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "cli/number.h"

namespace zenfs {

// `name`: as for CLI11 ("--zone-size"). ParseSize or ParseCount checks the user's value.
CLI::Option* AddSize(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help);

template <typename T>
CLI::Option* AddCount(CLI::App& app, const std::string& name, T& value, const std::string& help,
                      std::uint64_t max = std::numeric_limits<T>::max(), std::uint64_t min = 0) {
  auto store = [&value, min, max, name](const std::string& text) {
    const auto count = ParseCount(text, min, max);
    if (!count) throw CLI::ValidationError(name, count.error().text());
    value = static_cast<T>(*count);
  };
  return app.add_option_function<std::string>(name, store, help)
      ->type_name("N")
      ->default_str(std::to_string(value));
}

// Parses octal digits up to 777, as chmod(1); nothing for any other text.
[[nodiscard]] std::optional<mode_t> ParseFileMode(std::string_view text);

// Adds a flag for the permissions of a file that the verb creates, in octal digits as for chmod(1).
// `shown`: the default.
CLI::Option* AddFileMode(CLI::App& app, std::optional<mode_t>& mode, const std::string& shown);

// Adds a flag for the number of files that the verb copies in parallel.
CLI::Option* AddJobs(CLI::App& app, unsigned& jobs);

CLI::Option* AddJson(CLI::App& app, bool& json);

}  // namespace zenfs
