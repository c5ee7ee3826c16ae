// The options of a device URI that a backend takes (?key:value). Each backend lists its own in one table; parsing, messages and
// the comparison with the documentation (tests/cli/usage_test.py) come from it.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace zenfs {

// Options of a URI, in the order given, no key twice; a bare key has the value "".
using DeviceOptions = std::vector<std::pair<std::string, std::string>>;

// What a user reads of an option.
struct OptionText {
  std::string_view key;
  std::string_view form;     // with its value: "latency_us:N"
  std::string_view meaning;  // one line
  // Only for comparisons, tests and measurements: no other use of a volume needs it.
  bool for_comparisons = false;
};

// An option that sets a part of `Options`.
template <typename Options>
struct BackendOption {
  OptionText text;
  // Errors: kInvalidArgument for a bad value, which is named as key:value.
  Status (*set)(Options& options, std::string_view key, std::string_view value);
};

// Sets the options of `table` in the order given, and puts the others into `unclaimed` (not null). Errors: those of the options.
template <typename Options, std::size_t kCount>
[[nodiscard]] Result<Options> TakeOptions(const BackendOption<Options> (&table)[kCount],
                                          const DeviceOptions& given, DeviceOptions* unclaimed) {
  Options options;
  for (const auto& [key, value] : given) {
    const auto found = std::ranges::find(table, key, [](const auto& option) { return option.text.key; });
    if (found == std::end(table)) {
      unclaimed->emplace_back(key, value);
    } else {
      ZENFS_RETURN_IF_ERROR(found->set(options, key, value));
    }
  }
  return options;
}

template <typename Options, std::size_t kCount>
[[nodiscard]] std::vector<OptionText> TextsOf(const BackendOption<Options> (&table)[kCount]) {
  std::vector<OptionText> texts;
  for (const BackendOption<Options>& option : table) texts.push_back(option.text);
  return texts;
}

// A number of `unit` from 0 to `most`.
[[nodiscard]] Result<std::uint32_t> ParseNumber(std::string_view key, std::string_view value,
                                                std::string_view unit, std::uint32_t most);
// A bare key, 1 or true; 0 or false.
[[nodiscard]] Result<bool> ParseSwitch(std::string_view key, std::string_view value);

// The option `io` of the kernel's devices, for options with a member `io_uring`.
template <typename Options>
inline constexpr BackendOption<Options> kIoOption{
    {.key = "io",
     .form = "io:uring|io:plain",
     .meaning = "data by io_uring if the kernel allows it, or only by system calls"},
    [](Options& options, std::string_view, std::string_view value) -> Status {
      if (value != "uring" && value != "plain") {
        return Fail(Code::kInvalidArgument,
                    "option io:" + std::string(value) + " is neither io:uring nor io:plain");
      }
      options.io_uring = value == "uring";
      return {};
    }};

}  // namespace zenfs
