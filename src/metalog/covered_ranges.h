// The numbers that ranges cover, some of which may overlap. What a range adds costs the ranges that it adds to, which then become
// one: any number of wide ranges over many narrow ones takes n log n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace zenfs {

class CoveredRanges {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  // Covers [first, last] and returns the parts of it that were not covered, ascending. Nothing if last < first.
  std::vector<Range> Add(std::uint64_t first, std::uint64_t last) {
    std::vector<Range> added;
    if (last < first) return added;
    Range all{first, last};
    std::uint64_t next = first;
    bool ends_uncovered = true;
    auto at = ranges_.upper_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second >= first) --at;
    while (at != ranges_.end() && at->first <= last) {
      if (next < at->first) added.push_back({next, at->first - 1});
      ends_uncovered = at->second < last;
      next = at->second + 1;
      all = {std::min(all.first, at->first), std::max(all.last, at->second)};
      at = ranges_.erase(at);
    }
    if (ends_uncovered) added.push_back({next, last});
    ranges_.emplace(all.first, all.last);
    return added;
  }

  // Disjoint and not empty.
  std::size_t size() const { return ranges_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // the last number of each, by the first
};

}  // namespace zenfs
