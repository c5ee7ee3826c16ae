// What a check or a scrub has found.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/units.h"

namespace zenfs {

enum class Severity {
  kNote,     // worth knowing, nothing is wrong
  kWarning,  // space or speed is lost, no data
  kError,    // an invariant is broken or data can't be reached
};

struct Finding {
  Severity severity = Severity::kError;
  std::string text;  // one sentence, with the names of the file that it is about
  std::optional<ZoneId> zone{};
  std::optional<DeviceOffset> offset{};
  std::vector<std::string> paths{};  // of that file, if it is about one

  friend bool operator==(const Finding&, const Finding&) = default;
};

// nullptr: there is none.
[[nodiscard]] inline const Finding* FirstError(const std::vector<Finding>& findings) {
  const auto it = std::ranges::find(findings, Severity::kError, &Finding::severity);
  return it == findings.end() ? nullptr : &*it;
}
[[nodiscard]] inline bool HasError(const std::vector<Finding>& findings) {
  return FirstError(findings) != nullptr;
}

}  // namespace zenfs
