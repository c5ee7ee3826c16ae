// The results of fsck: of a check, a scrub, or a mount that looks at its losses.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
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
  std::vector<std::string> paths{};  // of the affected files; FileNames bounds their number and their length
  std::uint64_t more_paths = 0;      // the number of names that `paths` leaves out

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Keeps the first kKeptAtMost findings of each severity and counts the others: metadata of a few MiB can have millions, and
// many notes must not push out an error.
//
// Threads: a plain value.
class Findings {
 public:
  static constexpr std::size_t kKeptAtMost = 1000;

  void Add(Finding finding);
  // Same, for a finding of `severity`. Calls `make` only if the finding is kept, because the text of one may join paths of
  // thousands of directories.
  void Add(Severity severity, const std::invocable auto& make) {
    if (!CountOne(severity)) return;
    kept_.push_back(make());
    kept_.back().severity = severity;
  }
  void Add(const Findings& others);
  // Counts findings behind the first kKeptAtMost of a list, which were added.
  void AddOmitted(Severity severity, std::uint64_t count) {
    counts_[static_cast<std::size_t>(severity)].omitted += count;
  }
  // Removes those that `others` does not have, too. If `others` has omitted some of a severity, none of that severity is
  // removed, because it may be among these.
  void KeepThoseOf(const Findings& others);

  // Of those kept, in the order of Add.
  using value_type = Finding;
  using const_iterator = std::vector<Finding>::const_iterator;
  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }  // then none was omitted either
  const Finding& front() const { return kept_.front(); }
  const Finding& back() const { return kept_.back(); }
  const Finding& operator[](std::size_t i) const { return kept_[i]; }

  // "12 more errors, 1 more note, not listed"; empty if none is omitted.
  [[nodiscard]] std::string OmittedText() const;
  std::uint64_t omitted(Severity severity) const {
    return counts_[static_cast<std::size_t>(severity)].omitted;
  }

 private:
  struct Count {
    std::size_t kept = 0;
    std::uint64_t omitted = 0;
  };
  // Returns true if the finding is to be kept.
  [[nodiscard]] bool CountOne(Severity severity);

  std::vector<Finding> kept_;
  std::array<Count, 3> counts_;  // by severity
};

// Null if there is no error.
[[nodiscard]] inline const Finding* FirstError(const Findings& findings) {
  const auto it = std::ranges::find(findings, Severity::kError, &Finding::severity);
  return it == findings.end() ? nullptr : &*it;
}
[[nodiscard]] inline bool HasError(const Findings& findings) { return FirstError(findings) != nullptr; }

}  // namespace zenfs
