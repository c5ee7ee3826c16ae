#include "volume/fsck/finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/counted.h"

namespace zenfs {

bool Findings::CountOne(Severity severity) {
  Count& count = counts_[static_cast<std::size_t>(severity)];
  const bool keep = count.kept < kKeptAtMost;
  ++(keep ? count.kept : count.omitted);
  return keep;
}

void Findings::Add(Finding finding) {
  if (CountOne(finding.severity)) kept_.push_back(std::move(finding));
}

void Findings::Add(const Findings& others) {
  for (const Finding& finding : others) Add(finding);
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i].omitted += others.counts_[i].omitted;
}

void Findings::KeepThoseOf(const Findings& others) {
  std::erase_if(kept_, [&](const Finding& finding) {
    if (others.omitted(finding.severity) != 0) return false;
    if (std::ranges::find(others.kept_, finding) != others.kept_.end()) return false;
    --counts_[static_cast<std::size_t>(finding.severity)].kept;
    return true;
  });
  for (std::size_t i = 0; i < counts_.size(); ++i)
    counts_[i].omitted = std::min(counts_[i].omitted, others.counts_[i].omitted);
}

std::string Findings::OmittedText() const {
  std::vector<std::string> parts;
  const auto add = [&](Severity severity, std::string_view noun) {
    if (omitted(severity) != 0) parts.push_back(Counted(omitted(severity), noun));
  };
  add(Severity::kError, "more error");
  add(Severity::kWarning, "more warning");
  add(Severity::kNote, "more note");
  return parts.empty() ? "" : fmt::format("{}, not listed", fmt::join(parts, ", "));
}

}  // namespace zenfs
