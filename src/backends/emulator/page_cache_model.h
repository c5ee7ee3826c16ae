// Which pages of an emulated device the page cache of a host would hold: the least recently used ones go first. A page that was
// used a short while ago keeps its place in that order, as in the kernel's lists: a use then costs one look into a table. The data
// is always read from the store; the model only says which reads would need the device.
//
// Filled by reads and readahead, dropped by resets, as the kernel's cache of a zoned device is. Not filled by writes, which are
// direct.
//
// Threads: not thread-safe; the caller locks.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::uint64_t kCachePageBytes = 4096;

// A quarter of the host's memory.
[[nodiscard]] std::uint64_t DefaultPageCacheBytes();

class PageCacheModel {
 public:
  PageCacheModel(std::uint32_t zones, std::uint64_t capacity_bytes);

  // A range of bytes of one zone, in whole pages.
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Found {
    std::vector<Run> missing;  // in order
    SteadyTime ready{};        // when the last of the other pages is there
  };
  // Uses the pages of [begin, end) of a zone.
  [[nodiscard]] Found Use(ZoneId zone, std::uint64_t begin, std::uint64_t end);
  // The pages of `run` are there at `ready`. Those used longest ago make room.
  void Fill(ZoneId zone, Run run, SteadyTime ready);
  void Drop(ZoneId zone, std::uint64_t begin, std::uint64_t end);
  // Drops all pages of the zone, in constant time.
  void DropZone(ZoneId zone) { ++resets_[zone.value]; }

  std::uint64_t pages() const { return pages_.size(); }
  std::uint64_t free_bytes() const { return (capacity_ - pages_.size()) * kCachePageBytes; }

 private:
  struct Key {
    std::uint32_t zone;
    std::uint32_t page;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()((std::uint64_t{key.zone} << 32) | key.page);
    }
  };
  struct Page {
    std::uint32_t resets = 0;  // of the zone when the page was read
    SteadyTime ready{};
    std::uint64_t moved = 0;  // uses_ when it came to the front
    std::list<Key>::iterator place{};
  };

  // The page, with its use noted; null if it is not held.
  Page* Find(Key key);
  void Erase(Key key);

  const std::uint64_t capacity_;     // pages
  const std::uint64_t short_while_;  // uses of pages
  std::vector<std::uint32_t> resets_;
  std::uint64_t uses_ = 0;
  std::list<Key> order_;  // most recently used first
  std::unordered_map<Key, Page, KeyHash> pages_;
};

}  // namespace zenfs
