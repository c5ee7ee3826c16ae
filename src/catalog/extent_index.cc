#include "catalog/extent_index.h"

#include <algorithm>
#include <vector>

namespace zenfs {
namespace {

bool IsCommitted(const ExtentIndex::Entry& entry, const State& state) {
  const auto file = state.files().find(entry.file);
  if (file == state.files().end()) return false;
  const std::vector<Extent>& extents = file->second->extents;
  const std::size_t index = file->second->FindExtent(entry.file_offset);
  return index < extents.size() && extents[index].file_offset == entry.file_offset &&
         extents[index].place == entry.place;
}

}  // namespace

ExtentIndex::ExtentIndex(const State& state) {
  std::vector<Entry> entries;
  entries.reserve(state.files().size());
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) entries.push_back({extent.place, id, extent.file_offset});
  }
  std::ranges::sort(entries);  // a set is built from sorted entries in linear time
  entries_ = std::set<Entry>(entries.begin(), entries.end());
}

// A commit may add an extent and drop it again, or drop an extent and restate it. So each lost extent is looked up in
// the state.
void ExtentIndex::Update(std::span<const Edit> edits, std::span<const Extent> lost, const State& state) {
  for (const Edit& edit : edits) {
    const auto* set = std::get_if<SetExtents>(&edit);
    if (set == nullptr) continue;
    for (const Extent& extent : set->extents) entries_.insert({extent.place, set->id, extent.file_offset});
  }
  // Of a damaged volume, thousands of extents may be at one place.
  std::vector<DeviceOffset> places;
  for (const Extent& extent : lost) places.push_back(extent.place);
  std::ranges::sort(places);
  const auto same = std::ranges::unique(places);
  places.erase(same.begin(), same.end());
  for (const DeviceOffset place : places) {
    auto it = entries_.lower_bound(Entry{.place = place});
    while (it != entries_.end() && it->place == place) {
      it = IsCommitted(*it, state) ? std::next(it) : entries_.erase(it);
    }
  }
}

}  // namespace zenfs
