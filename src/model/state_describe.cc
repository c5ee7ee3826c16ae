// State::Describe: the edits of a snapshot.
#include <algorithm>
#include <deque>
#include <unordered_set>

#include "model/state.h"

namespace zenfs {
namespace {

// Keeps a chunk within the few hundred bytes that Describe promises.
constexpr std::size_t kExtentsPerChunk = 16;
constexpr std::size_t kLogZonesPerChunk = 16;

using Visit = std::function<void(std::vector<Edit>)>;

void DescribeContents(const FileRecord& file, const Visit& visit) {
  for (std::size_t i = 0; i < file.extents.size(); i += kExtentsPerChunk) {
    const std::size_t n = std::min(kExtentsPerChunk, file.extents.size() - i);
    SetExtents chunk{.id = file.id, .from_offset = file.extents[i].file_offset, .extents = {}, .size = 0};
    chunk.extents.assign(file.extents.begin() + i, file.extents.begin() + i + n);
    chunk.size = chunk.extents.back().end();
    chunk.mtime_seconds = file.mtime_seconds;
    visit({std::move(chunk)});
  }
  if (!file.windows.empty() || file.next_sequence != FileRecord{}.next_sequence) {
    visit({SealLog{.id = file.id,
                   .windows = file.windows,
                   .next_sequence = file.next_sequence,
                   .size = file.size,
                   .mtime_seconds = file.mtime_seconds}});
  }
}

}  // namespace

void State::Describe(const std::function<void(std::vector<Edit>)>& visit) const {
  std::vector<Edit> counters{RaiseCounters{.next_id = next_id_, .next_generation = next_generation_}};
  if (epoch_ != 0) counters.push_back(BeginEpoch{epoch_});
  if (!buffers_.place.empty()) counters.push_back(buffers_);
  if (!pair_key_.IsNil()) counters.push_back(SetPairKey{pair_key_});
  visit(std::move(counters));

  AllocateLogZones allocated;
  for (const auto& [id, zone] : log_zones_) {
    allocated.zones.push_back({.zone = id, .generation = zone.generation, .salt = zone.salt});
    if (allocated.zones.size() < kLogZonesPerChunk) continue;
    visit({std::move(allocated)});
    allocated = {};
  }
  if (!allocated.zones.empty()) visit({std::move(allocated)});
  for (const auto& [id, zone] : log_zones_) {
    if (zone.sync_bytes != 0) visit({MarkSyncZone{id, zone.sync_bytes}});
  }

  // Parents before children; entries by name, so that equal states have equal descriptions.
  std::unordered_set<FileId> described;
  std::deque<const Directory*> pending{&directories_.at(kRootDirectory)};
  for (; !pending.empty(); pending.pop_front()) {
    const Directory& parent = *pending.front();
    for (const auto& [name, id] : parent.entries) {
      if (const Directory* child = FindDirectory(id)) {
        visit({CreateDirectory{
            .id = id, .parent = parent.id, .name = name, .mtime_seconds = child->mtime_seconds}});
        pending.push_back(child);
      } else if (!described.insert(id).second) {
        visit({LinkFile{.parent = parent.id, .name = name, .id = id}});
      } else {
        const FileRecord& file = *files_.at(id);
        visit({CreateFile{.id = id,
                          .shape = file.shape,
                          .lifetime = file.lifetime,
                          .mtime_seconds = file.mtime_seconds},
               LinkFile{.parent = parent.id, .name = name, .id = id}});
        DescribeContents(file, visit);
      }
    }
  }
}

}  // namespace zenfs
