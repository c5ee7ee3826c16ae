#include "metalog/replica.h"

#include <algorithm>
#include <variant>

#include "base/bytes.h"

namespace zenfs {
namespace {

// Upper bounds of the encoded sizes of the edits from State::Describe, in bytes, for ids below 2^42.
// kBase: counters, the append buffers' place, key and maker, and the key of the pair.
constexpr std::uint64_t kBase = 64 + 8 + kMaxPlaceBytes + 8 + kBufferKeyBytes + 24;
constexpr std::uint64_t kPerFile = 28;
constexpr std::uint64_t kPerName = 24;       // plus the name
constexpr std::uint64_t kPerDirectory = 32;  // plus the name
constexpr std::uint64_t kPerExtent = 31;
constexpr std::uint64_t kExtentsBase = 36;  // a SetExtents edit
constexpr std::uint64_t kPerWindow = 28;
constexpr std::uint64_t kWindowsBase = 36;
constexpr std::uint64_t kPerLogZone = 24 + 17;  // with its MarkSyncZone

std::uint64_t FileBytes(const FileRecord& file) {
  std::uint64_t bytes = kPerFile;
  if (!file.extents.empty()) bytes += kExtentsBase + kPerExtent * file.extents.size();
  if (!file.windows.empty() || file.next_sequence != 1)
    bytes += kWindowsBase + kPerWindow * file.windows.size();
  return bytes;
}

// Change of the bytes for names and log zones, for each kind of edit. FileBytes covers the rest.
struct NameDelta {
  std::int64_t operator()(const LinkFile& e) const { return Name(e.name); }
  std::int64_t operator()(const UnlinkFile& e) const { return -Name(e.name); }
  std::int64_t operator()(const CreateDirectory& e) const { return Directory(e.name); }
  std::int64_t operator()(const RemoveDirectory& e) const { return -Directory(e.name); }
  std::int64_t operator()(const RenameEntry& e) const { return Name(e.to_name) - Name(e.from_name); }
  std::int64_t operator()(const AllocateLogZones& e) const {
    return static_cast<std::int64_t>(kPerLogZone * e.zones.size());
  }
  std::int64_t operator()(const ReleaseLogZones& e) const {
    return -static_cast<std::int64_t>(kPerLogZone * e.zones.size());
  }
  template <typename Other>
  std::int64_t operator()(const Other&) const {
    return 0;
  }

  static std::int64_t Name(const std::string& name) {
    return static_cast<std::int64_t>(kPerName + name.size());
  }
  static std::int64_t Directory(const std::string& name) {
    return static_cast<std::int64_t>(kPerDirectory + name.size());
  }
};

struct ToGrowth {
  Growth operator()(const CreateFile&) const { return Growth::kGrows; }
  Growth operator()(const CreateDirectory&) const { return Growth::kGrows; }
  Growth operator()(const LinkFile&) const { return Growth::kGrows; }
  Growth operator()(const SetExtents& e) const {
    return e.extents.empty() ? Growth::kShrinks : Growth::kGrows;
  }
  Growth operator()(const RenameEntry&) const { return Growth::kNeutral; }
  Growth operator()(const SealLog&) const { return Growth::kNeutral; }
  Growth operator()(const AllocateLogZones&) const { return Growth::kNeutral; }
  Growth operator()(const MarkSyncZone&) const { return Growth::kNeutral; }
  template <typename Other>
  Growth operator()(const Other&) const {
    return Growth::kShrinks;
  }
};

}  // namespace

Footprint::Footprint(const State& state) : bytes_(kBase + kPerLogZone * state.log_zones().size()) {
  for (const auto& [id, directory] : state.directories()) {
    for (const auto& [name, entry] : directory.entries) {
      const bool is_directory = state.FindDirectory(entry) != nullptr;
      bytes_ += name.size() + (is_directory ? kPerDirectory : kPerName);
    }
  }
  for (const auto& [id, file] : state.files()) SetFile(id, FileBytes(*file));
}

void Footprint::SetFile(FileId id, std::uint64_t bytes) {
  std::uint64_t& known = files_[id];
  bytes_ = bytes_ - known + bytes;
  known = bytes;
}

void Footprint::Apply(std::span<const Edit> edits, const Effects& effects, const State& after) {
  std::int64_t delta = 0;
  for (const Edit& edit : edits) delta += std::visit(NameDelta{}, edit);
  bytes_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(bytes_) + delta));
  for (const FileId id : effects.changed) SetFile(id, FileBytes(*after.FindFile(id)));
  for (const FileId id : effects.removed) {
    SetFile(id, 0);
    files_.erase(id);
  }
}

Growth GrowthOf(std::span<const Edit> edits) {
  Growth worst = Growth::kShrinks;
  for (const Edit& edit : edits) worst = std::max(worst, std::visit(ToGrowth{}, edit));
  return worst;
}

std::uint64_t MetalogSpace::SwitchReserve() const {
  return std::min<std::uint64_t>(zone_bytes / 4, 64 << 20);
}

std::uint64_t MetalogSpace::MinRoom() const {
  const std::uint64_t room = std::min<std::uint64_t>(zone_bytes / 8, 16 << 20);
  return std::max<std::uint64_t>(RoundUp(room, block_size), 3 * block_size);
}

std::uint64_t MetalogSpace::SnapshotLimit() const {
  // One eighth is for headers, padding and unused ends of zones.
  // Two generations of each copy. If zones were lost, the log goes on with one copy.
  const std::uint64_t places = std::max(zones / (2 * copies), zones < 2 ? 0u : 1u);
  const std::uint64_t room = places * (zone_bytes - zone_bytes / 8);
  const std::uint64_t reserve = SwitchReserve() + MinRoom();
  return room > reserve ? room - reserve : 0;
}

std::uint64_t MetalogSpace::SnapshotLimit(Growth growth) const {
  const std::uint64_t limit = SnapshotLimit();
  return growth == Growth::kGrows ? limit - limit / 16 : limit;
}

std::uint32_t MetalogSpace::ZonesNeeded(std::uint64_t used, std::uint64_t wanted) const {
  constexpr std::uint64_t kAhead = 64 << 10;  // more than most commits
  const std::uint64_t limit = SnapshotLimit(Growth::kGrows);
  const std::uint64_t ahead = std::max({limit / 4, std::min(kAhead, limit / 2), wanted});
  return may_grow && used + ahead > limit ? static_cast<std::uint32_t>(ZonesOfPlace()) : 0;
}

Status Replica::Add(const Edits& edits, std::string& encoded, std::uint64_t reserved) {
  if (!frozen_) return Apply(*edits, reserved);
  pending_.push_back({edits, std::move(encoded), reserved});
  return {};
}

const State& Replica::Freeze() {
  ZENFS_ASSERT(!frozen_ && pending_.empty());
  frozen_ = true;
  return state_;
}

Status Replica::Thaw() {
  ZENFS_ASSERT(frozen_);
  frozen_ = false;
  Status applied;
  for (const Pending& commit : pending_) {
    applied = Apply(*commit.edits, commit.reserved);
    if (!applied.ok()) break;
  }
  pending_.clear();
  return applied;
}

Status Replica::Thaw(Footprint measured) {
  footprint_ = std::move(measured);
  return Thaw();
}

Status Replica::Apply(const std::vector<Edit>& edits, std::uint64_t reserved) {
  ZENFS_ASSERT(!frozen_);
  Release(reserved);
  Effects effects;
  ZENFS_RETURN_IF_ERROR(state_.Apply(edits, &effects));
  footprint_.Apply(edits, effects, state_);
  return {};
}

}  // namespace zenfs
