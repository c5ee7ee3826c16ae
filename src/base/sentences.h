// Sentences for users about damage. Keeps the first kKeptAtMost and counts the others, because damaged metadata of a few MiB
// can give millions.
//
// Threads: a plain value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zenfs {

class Sentences {
 public:
  static constexpr std::size_t kKeptAtMost = 1000;

  void Add(std::string sentence) {
    Add([&] { return std::move(sentence); });
  }
  // Same. Calls `make`, which returns the sentence, only if it is kept: it may join paths of thousands of directories.
  void Add(const std::invocable auto& make) {
    if (kept_.size() == kKeptAtMost) {
      ++omitted_;
    } else {
      kept_.push_back(make());
    }
  }

  // Of those kept, in the order of Add.
  using value_type = std::string;
  using const_iterator = std::vector<std::string>::const_iterator;
  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }  // then none was omitted either
  const std::string& front() const { return kept_.front(); }
  std::uint64_t omitted() const { return omitted_; }

  friend bool operator==(const Sentences&, const Sentences&) = default;

 private:
  std::vector<std::string> kept_;
  std::uint64_t omitted_ = 0;
};

}  // namespace zenfs
