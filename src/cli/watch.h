// The flag --watch[=SECONDS]: repeats the output of a verb.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "base/status.h"
#include "cli/console.h"

namespace zenfs {

class WatchOption {
 public:
  // `app` keeps references to this object.
  explicit WatchOption(CLI::App& app);

  bool given() const { return option_->count() > 0; }

  // Prints the results of `draw` until `draw` or the output fails, and returns that error. On a terminal each output replaces the
  // previous one; otherwise each is followed by `between`.
  [[nodiscard]] Status Run(Console& console, std::string_view between,
                           const std::function<Result<StyledText>()>& draw) const;

 private:
  CLI::Option* option_;
  std::chrono::milliseconds interval_{2000};
};

}  // namespace zenfs
