// Violations of the invariants of a State. Keeps the first kKeptAtMost by their text and counts the others, because damaged metadata
// of a few MiB can have millions.
//
// Threads: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/units.h"

namespace zenfs {

struct StateFlaw {
  std::string text;           // one sentence
  std::vector<FileId> files;  // the affected files and directories
};

class StateFlaws {
 public:
  static constexpr std::size_t kKeptAtMost = 1000;

  void Add(StateFlaw flaw) {
    kept_.insert(std::move(flaw));
    if (kept_.size() <= kKeptAtMost) return;
    kept_.erase(std::prev(kept_.end()));
    ++omitted_;
  }

  using value_type = StateFlaw;
  // Those kept, by text: a fixed order, unlike that of the hash tables of a State.
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }  // then none was omitted either
  std::uint64_t omitted() const { return omitted_; }

 private:
  struct ByText {
    bool operator()(const StateFlaw& a, const StateFlaw& b) const { return a.text < b.text; }
  };
  std::multiset<StateFlaw, ByText> kept_;
  std::uint64_t omitted_ = 0;
};

}  // namespace zenfs
