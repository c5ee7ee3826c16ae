// A random walk through valid metadata: commits that a State accepts, for tests of code that takes
// edits. The same seed gives the same walk. Not thread-safe.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "model/state.h"

namespace zenfs {

class EditWalk {
 public:
  explicit EditWalk(std::uint64_t seed) : random_(seed) {}

  // The state after all commits returned so far.
  const State& state() const { return state_; }

  // Returns the next commit of one to three steps, already applied to state().
  std::vector<Edit> Next() {
    for (;;) {
      std::vector<Edit> edits;
      State whole = state_;
      const State before = state_;
      for (std::uint64_t n = 1 + random_.Below(3); n > 0; --n) Extend(edits);
      // Valid steps can be invalid as one commit, for example if it creates and unlinks a file.
      if (!edits.empty() && whole.Apply(edits).ok()) return edits;
      state_ = before;
    }
  }

 private:
  static constexpr std::uint64_t kBlock = 4096;

  void Extend(std::vector<Edit>& edits) {
    std::vector<Edit> step = Step();
    if (step.empty()) return;
    State next = state_;
    if (!next.Apply(step).ok()) return;  // skip a step that is impossible here
    state_ = std::move(next);
    edits.insert(edits.end(), step.begin(), step.end());
  }

  std::vector<Edit> Step() {
    switch (random_.Below(12)) {
      case 0:
      case 1: return NewFile();
      case 2:
        return {RaiseCounters{.next_id = state_.next_id() + 1, .next_generation = 0},
                CreateDirectory{.id = FileId(state_.next_id()),
                                .parent = AnyDirectory(),
                                .name = AnyName(),
                                .mtime_seconds = random_.Below(100)}};
      case 3: return {LinkFile{.parent = AnyDirectory(), .name = AnyName(), .id = AnyFile()}};
      case 4:
        return Named([](FileId parent, const std::string& name) -> Edit { return UnlinkFile{parent, name}; });
      case 5:
        return Named(
            [](FileId parent, const std::string& name) -> Edit { return RemoveDirectory{parent, name}; });
      case 6:
        return Named([this](FileId parent, const std::string& name) -> Edit {
          return RenameEntry{parent, name, AnyDirectory(), AnyName()};
        });
      case 7:
      case 8: return NewExtents();
      case 9: return NewWindows();
      case 10: return LogZones();
      default:
        if (random_.OneIn(4)) return {Buffers()};
        if (random_.OneIn(8)) return {SetPairKey{PairKey()}};
        return {random_.OneIn(2)
                    ? Edit(BeginEpoch{state_.epoch() + 1 + random_.Below(3)})
                    : Edit(SetLifetime{AnyFile(), static_cast<Lifetime>(random_.Below(kLifetimeCount))})};
    }
  }

  Uuid PairKey() {
    Uuid key{{1}};
    random_.Fill(std::as_writable_bytes(std::span(key.bytes).subspan(1)));
    return key;
  }
  SetBufferPlace Buffers() {
    SetBufferPlace buffers{std::string(random_.Below(40), 'p')};
    if (buffers.place.empty() || random_.OneIn(2)) return buffers;
    buffers.key.assign(kBufferKeyBytes, static_cast<char>(random_.Next()));
    buffers.maker = static_cast<std::uint32_t>(random_.Next());
    return buffers;
  }

  std::vector<Edit> NewFile() {
    const FileId id(state_.next_id() + random_.Below(3));
    return {RaiseCounters{.next_id = id.value + 1, .next_generation = 0},
            CreateFile{.id = id,
                       .shape = random_.OneIn(2) ? FileShape::kFramed : FileShape::kPlain,
                       .lifetime = static_cast<Lifetime>(random_.Below(kLifetimeCount)),
                       .mtime_seconds = random_.Below(1000)},
            LinkFile{.parent = AnyDirectory(), .name = AnyName(), .id = id}};
  }

  std::vector<Edit> NewExtents() {
    const auto file = state_.FindFile(AnyFile());
    if (file == nullptr) return {};
    // Begins at a multiple of the block size up to the end, as the invariant of extents demands.
    const std::uint64_t from = random_.Below(file->ExtentsEnd() / kBlock + 1) * kBlock;
    SetExtents edit{.id = file->id, .from_offset = from, .extents = {}, .size = from};
    for (std::uint64_t n = random_.Below(20); n > 0; --n) {
      const std::uint64_t length = n == 1 ? 1 + random_.Below(3 * kBlock) : kBlock * (1 + random_.Below(3));
      edit.extents.push_back(
          {.file_offset = edit.size, .place = DeviceOffset(next_place_), .length = length, .crc = AnyCrc()});
      next_place_ += RoundUp(length, kBlock);
      edit.size += length;
    }
    edit.mtime_seconds = random_.Below(1000);
    if (file->windows.empty()) return {edit};
    return {edit, SealLog{.id = file->id,
                          .windows = {},
                          .next_sequence = file->next_sequence,
                          .size = edit.size,
                          .mtime_seconds = edit.mtime_seconds}};
  }

  KnownCrc AnyCrc() {
    if (random_.OneIn(3)) return std::nullopt;
    return static_cast<std::uint32_t>(random_.Next());
  }

  std::vector<Edit> NewWindows() {
    const auto file = state_.FindFile(AnyFile());
    if (file == nullptr) return {};
    SealLog edit{
        .id = file->id, .windows = file->windows, .next_sequence = file->next_sequence, .size = file->size};
    edit.windows.push_back({.epoch = state_.epoch(),
                            .first_sequence = edit.next_sequence,
                            .last_sequence = edit.next_sequence + random_.Below(9),
                            .end = file->size + random_.Below(9999)});
    edit.next_sequence = edit.windows.back().last_sequence + 1;
    edit.size = edit.windows.back().end;
    return {edit};
  }

  std::vector<Edit> LogZones() {
    const ZoneId zone(static_cast<std::uint32_t>(random_.Below(6)));
    if (const auto known = state_.log_zones().find(zone); known != state_.log_zones().end()) {
      if (known->second.sync_bytes == 0 && random_.OneIn(3))
        return {MarkSyncZone{zone, 1 + random_.Below(99)}};
      return {ReleaseLogZones{{zone}}};
    }
    const std::uint64_t generation = state_.next_generation();
    return {AllocateLogZones{{LogZone{zone, generation, random_.Next()}}},
            RaiseCounters{.next_id = 0, .next_generation = generation + 1}};
  }

  template <typename MakeEdit>
  std::vector<Edit> Named(MakeEdit make) {
    const Directory& directory = *state_.FindDirectory(AnyDirectory());
    if (directory.entries.empty()) return {};
    const auto entry = std::next(directory.entries.begin(), random_.Below(directory.entries.size()));
    return {make(directory.id, entry->first)};
  }

  FileId AnyDirectory() { return AnyKey(state_.directories(), kRootDirectory); }
  FileId AnyFile() { return AnyKey(state_.files(), kNoFile); }
  std::string AnyName() { return "n" + std::to_string(random_.Below(60)); }

  template <typename Map>
  FileId AnyKey(const Map& map, FileId none) {
    if (map.empty()) return none;
    std::vector<FileId> ids;
    for (const auto& entry : map) ids.push_back(entry.first);
    std::ranges::sort(ids);
    return ids[random_.Below(ids.size())];
  }

  Random random_;
  State state_;
  std::uint64_t next_place_ = std::uint64_t{1} << 30;
};

}  // namespace zenfs
