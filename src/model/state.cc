// State: lookups, the edits of a snapshot (Describe), and checks of its invariants. state_apply.cc has State::Apply.
#include "model/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>

namespace zenfs {

State::State() {
  directories_.emplace(
      kRootDirectory,
      Directory{
          .id = kRootDirectory, .parent = kRootDirectory, .name = {}, .mtime_seconds = 0, .entries = {}});
}

std::shared_ptr<const FileRecord> State::FindFile(FileId id) const {
  const auto found = files_.find(id);
  return found == files_.end() ? nullptr : found->second;
}

const Directory* State::FindDirectory(FileId id) const {
  const auto found = directories_.find(id);
  return found == directories_.end() ? nullptr : &found->second;
}

std::optional<FileId> State::FindEntry(FileId parent, std::string_view name) const {
  const Directory* directory = FindDirectory(parent);
  if (directory == nullptr) return std::nullopt;
  const auto found = directory->entries.find(name);
  if (found == directory->entries.end()) return std::nullopt;
  return found->second;
}

bool operator==(const State& a, const State& b) {
  const auto same_file = [&](const auto& entry) {
    const auto other = b.FindFile(entry.first);
    return other != nullptr && (other == entry.second || *other == *entry.second);
  };
  return a.epoch_ == b.epoch_ && a.next_id_ == b.next_id_ && a.next_generation_ == b.next_generation_ &&
         a.buffers_ == b.buffers_ && a.pair_key_ == b.pair_key_ && a.log_zones_ == b.log_zones_ &&
         a.directories_ == b.directories_ && a.files_.size() == b.files_.size() &&
         std::ranges::all_of(a.files_, same_file);
}

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

namespace {

class Checker {
 public:
  explicit Checker(const State& state) : state_(state) {}

  void CheckAllButOverlaps() {
    CheckDirectories();
    CheckWaysToRoot();
    for (const auto& [id, file] : state_.files()) CheckFile(id, *file);
    if (auto flaw = FindNumberFrom(state_, kStateNumbersCredible)) flaws_.Add(*std::move(flaw));
    for (const auto& [id, zone] : state_.log_zones()) {
      if (zone.generation >= state_.next_generation() || zone.zone != id) {
        Add({}, "log zone {} has generation {}, but the next one is {}", id.value, zone.generation,
            state_.next_generation());
      }
    }
  }

  void CheckOverlaps() {
    struct Piece {
      DeviceOffset place;
      std::uint64_t length;
      FileId owner;
    };
    std::vector<Piece> pieces;
    for (const auto& [id, file] : state_.files()) {
      for (const Extent& extent : file->extents) pieces.push_back({extent.place, extent.length, id});
    }
    std::ranges::sort(pieces, {}, [](const Piece& p) { return std::pair(p.place, p.owner); });
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1].place + pieces[i - 1].length > pieces[i].place) {
        Add({pieces[i - 1].owner, pieces[i].owner}, "files {} and {} both claim device byte {}",
            pieces[i - 1].owner.value, pieces[i].owner.value, pieces[i].place.value);
      }
    }
  }

  StateFlaws Take() { return std::move(flaws_); }

 private:
  template <typename... Args>
  void Add(const std::vector<FileId>& files, fmt::format_string<Args...> text, Args&&... args) {
    flaws_.Add({.text = fmt::format(text, std::forward<Args>(args)...), .files = files});
  }

  void CheckDirectories() {
    if (state_.FindDirectory(kRootDirectory) == nullptr) Add({}, "there is no root directory");
    for (const auto& [id, directory] : state_.directories()) {
      if (id != directory.id) Add({id}, "directory {} has id {} in its record", id.value, directory.id.value);
      if (id.value >= state_.next_id())
        Add({id}, "directory {} has an id that was never allocated", id.value);
      for (const auto& [name, entry] : directory.entries) CheckEntry(directory, name, entry);
    }
  }

  // Visits each directory once: a way ends at a directory from which the rest was visited before. So a fault is found once, and
  // not again for all that is below it.
  void CheckWaysToRoot() {
    std::unordered_map<FileId, std::size_t> visited{{kRootDirectory, 0}};  // on which of the ways
    std::size_t way = 0;
    for (const auto& [id, directory] : state_.directories()) {
      ++way;
      for (const Directory* at = &directory; at != nullptr; at = state_.FindDirectory(at->parent)) {
        const auto [before, is_new] = visited.try_emplace(at->id, way);
        if (!is_new && before->second == way) Add({at->id}, "directory {} is its own ancestor", at->id.value);
        if (!is_new) break;
        if (state_.FindEntry(at->parent, at->name) != at->id) {
          Add({at->id, at->parent}, "directory {} is not an entry of its parent {}", at->id.value,
              at->parent.value);
          break;
        }
      }
    }
  }

  void CheckEntry(const Directory& directory, const std::string& name, FileId id) {
    if (!IsValidName(name))
      Add({directory.id}, "directory {} has an entry with an invalid name", directory.id.value);
    const Directory* child = state_.FindDirectory(id);
    if (child != nullptr) {
      if (child->parent != directory.id || child->name != name) {
        Add({id, directory.id},
            "directory {} is entry \"{}\" of directory {}, but has another parent or name", id.value, name,
            directory.id.value);
      }
    } else if (state_.FindFile(id) == nullptr) {
      Add({directory.id}, "\"{}\" in directory {} names {}, which is neither a file nor a directory", name,
          directory.id.value, id.value);
    } else {
      ++names_[id];
    }
  }

  void CheckFile(FileId id, const FileRecord& file) {
    if (id != file.id) Add({id}, "file {} has id {} in its record", id.value, file.id.value);
    if (id.value >= state_.next_id()) Add({id}, "file {} has an id that was never allocated", id.value);
    const auto names = names_.find(id);
    const std::uint32_t count = names == names_.end() ? 0 : names->second;
    if (count == 0 || count != file.links) {
      Add({id}, "file {} has {} names, but its link count is {}", id.value, count, file.links);
    }
    std::uint64_t end = 0;
    for (const Extent& extent : file.extents) {
      if (extent.file_offset != end || extent.length == 0) {
        Add({id}, "file {} has a gap or an empty extent at byte {}", id.value, end);
      }
      end = extent.end();
    }
    CheckWindows(file, end);
  }

  void CheckWindows(const FileRecord& file, std::uint64_t end) {
    if (file.shape == FileShape::kPlain && !file.windows.empty()) {
      Add({file.id}, "plain file {} has log windows", file.id.value);
    }
    std::uint64_t sequence = 0;
    for (const LogWindow& window : file.windows) {
      if (window.first_sequence <= sequence || window.last_sequence < window.first_sequence ||
          window.last_sequence >= file.next_sequence || window.end < end || window.epoch > state_.epoch()) {
        Add({file.id}, "file {} has an invalid window at frame {}", file.id.value, window.first_sequence);
      }
      sequence = window.last_sequence;
      end = window.end;
    }
    if (file.size != end) {
      Add({file.id}, "file {} has size {}, but its extents and windows end at {}", file.id.value, file.size,
          end);
    }
  }

  const State& state_;
  std::unordered_map<FileId, std::uint32_t> names_;
  StateFlaws flaws_;
};

}  // namespace

StateFlaws State::Flaws() const {
  Checker checker(*this);
  checker.CheckAllButOverlaps();
  return checker.Take();
}

std::vector<std::string> State::Check() const {
  Checker checker(*this);
  checker.CheckAllButOverlaps();
  checker.CheckOverlaps();
  std::vector<std::string> sentences;
  for (const StateFlaw& flaw : checker.Take()) sentences.push_back(flaw.text);
  return sentences;
}

std::optional<StateFlaw> FindNumberFrom(const State& state, std::uint64_t limit) {
  if (std::max({state.epoch(), state.next_id(), state.next_generation()}) >= limit) {
    return StateFlaw{
        .text = fmt::format("the epoch is {}, the next id {} and the next generation {}: higher than any "
                            "writer counts",
                            state.epoch(), state.next_id(), state.next_generation()),
        .files = {}};
  }
  for (const auto& [id, file] : state.files()) {
    if (std::max(file->next_sequence, file->size) < limit) continue;
    return StateFlaw{
        .text = fmt::format("file {} has size {} and its next frame is {}: higher than any writer counts",
                            id.value, file->size, file->next_sequence),
        .files = {id}};
  }
  return std::nullopt;
}

}  // namespace zenfs
