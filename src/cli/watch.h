// Flags for outputs that are repeated: how often, and as text.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "base/status.h"
#include "cli/console.h"
#include "cli/styled_text.h"

namespace zenfs {

// Parses the SECONDS of `flag`. Throws CLI::ValidationError.
[[nodiscard]] std::chrono::milliseconds ParseInterval(const std::string& flag, const std::string& text);

inline constexpr std::chrono::milliseconds kDefaultInterval{2000};

// The flag --watch[=SECONDS].
class WatchOption {
 public:
  // `app` keeps references to this object.
  explicit WatchOption(CLI::App& app);

  bool given() const { return option_->count() > 0; }
  std::chrono::milliseconds interval() const { return interval_; }

  // Prints the results of `draw`, with `between` between two, until `draw` or the output fails, and returns that error.
  // For a full screen see cli/volume_watch.h.
  [[nodiscard]] Status Run(Console& console, std::string_view between,
                           const std::function<Result<StyledText>()>& draw) const;

 private:
  CLI::Option* option_;
  std::chrono::milliseconds interval_ = kDefaultInterval;
};

}  // namespace zenfs
