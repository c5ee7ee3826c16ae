// A result of a check or a scrub.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/units.h"

namespace zenfs {

enum class Severity {
  kNote,     // information; nothing is wrong
  kWarning,  // space or speed is lost, but no data
  kError,    // an invariant is broken, or data can't be read
};

struct Finding {
  Severity severity = Severity::kError;
  std::string text;  // one sentence, with the names of the file if it is about one
  std::optional<ZoneId> zone{};
  std::optional<DeviceOffset> offset{};
  std::vector<std::string> paths{};  // of that file

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Null if there is no error.
[[nodiscard]] inline const Finding* FirstError(const std::vector<Finding>& findings) {
  const auto it = std::ranges::find(findings, Severity::kError, &Finding::severity);
  return it == findings.end() ? nullptr : &*it;
}
[[nodiscard]] inline bool HasError(const std::vector<Finding>& findings) {
  return FirstError(findings) != nullptr;
}

}  // namespace zenfs
