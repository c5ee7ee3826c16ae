// The flag --watch[=SECONDS]: what a verb shows, again and again.
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

  // Shows what `draw` returns, as it is (Console::PrintStyled), until it fails or the output can't be written, and returns that error. On a terminal each
  // takes the place of the one before; elsewhere each is followed by `between`.
  [[nodiscard]] Status Run(Console& console, std::string_view between,
                           const std::function<Result<std::string>()>& draw) const;

 private:
  CLI::Option* option_;
  std::chrono::milliseconds interval_{2000};
};

}  // namespace zenfs
