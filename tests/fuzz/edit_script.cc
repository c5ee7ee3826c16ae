#include "edit_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "format/frame.h"

namespace zenfs {
namespace {

constexpr std::size_t kEditsMax = 24;  // per list
constexpr auto kWildNumbers = std::to_array<std::uint64_t>(
    {0, 1, 511, 4096, UINT32_MAX, std::uint64_t{1} << 32, kCredibleEnd - 1, kCredibleEnd, kNumbersEnd - 1,
     kNumbersEnd, UINT64_MAX - 4095, UINT64_MAX - 1, UINT64_MAX});
constexpr auto kLifetimes = static_cast<unsigned>(kLifetimeCount);

// Makes the edits of one record.
class Maker {
 public:
  Maker(const EmulatorGeometry& geometry, const State& state, const EditRecord& record)
      : geometry_(geometry), state_(state), record_(record) {}

  std::vector<Edit> Make() {
    switch (static_cast<EditKind>(record_.kind % static_cast<unsigned>(EditKind::kCount))) {
      case EditKind::kCreateFile: return NewFile();
      case EditKind::kCreateDirectory: return NewDirectory();
      case EditKind::kLinkFile:
        return {LinkFile{AnyDirectory(record_.b), NewName(record_.n), AnyFile(record_.a)}};
      case EditKind::kUnlinkFile: return {UnlinkFile{AnyDirectory(record_.b), OldName(record_.b, record_.n)}};
      case EditKind::kRenameEntry: return Rename();
      case EditKind::kRemoveDirectory:
        return {RemoveDirectory{AnyDirectory(record_.b), OldName(record_.b, record_.n)}};
      case EditKind::kSetExtents: return NewExtents();
      case EditKind::kSealLog: return Seal();
      case EditKind::kSetLifetime: return {SetLifetime{AnyFile(record_.a), AnyLifetime(record_.b)}};
      case EditKind::kAllocateLogZones: return Allocate();
      case EditKind::kReleaseLogZones: return {ReleaseLogZones{{AnyLogZone()}}};
      case EditKind::kMarkSyncZone: return {MarkSyncZone{AnyLogZone(), Number(record_.m, record_.m)}};
      case EditKind::kBeginEpoch: return {BeginEpoch{Number(state_.epoch() + 1, record_.n)}};
      case EditKind::kRaiseCounters:
        return {
            RaiseCounters{Number(state_.next_id(), record_.n), Number(state_.next_generation(), record_.m)}};
      case EditKind::kSetBufferPlace: return {SetBufferPlace{AnyPlace(), AnyKey(), AnyMaker()}};
      case EditKind::kSetPairKey: return {SetPairKey{AnyPairKey()}};
      case EditKind::kCount: break;
    }
    return {};
  }

 private:
  bool Has(EditFlags flag) const { return (record_.flags & flag) != 0; }
  std::uint64_t block() const { return geometry_.block_size; }

  std::uint64_t Number(std::uint64_t base, std::uint64_t choice) const {
    return Has(kWild) ? kWildNumbers[choice % kWildNumbers.size()] : base + choice % 4;
  }
  Lifetime AnyLifetime(unsigned choice) const {
    return static_cast<Lifetime>(Has(kWild) ? choice : choice % kLifetimes);
  }

  // --- ids and names ---
  template <typename Map>
  static FileId Pick(const Map& map, unsigned choice, FileId none) {
    if (map.empty()) return none;
    std::vector<FileId> ids;
    for (const auto& entry : map) ids.push_back(entry.first);
    std::ranges::sort(ids);
    return ids[choice % ids.size()];
  }
  FileId AnyFile(unsigned choice) const {
    return Has(kWild) && choice >= 128 ? FileId(Number(0, choice)) : Pick(state_.files(), choice, kNoFile);
  }
  FileId AnyDirectory(unsigned choice) const { return Pick(state_.directories(), choice, kRootDirectory); }

  std::string NewName(unsigned choice) const {
    if (!Has(kWild)) return fmt::format("n{}{}", choice % 32, choice % 64 < 32 ? ".log" : ".sst");
    switch (choice % 8) {
      case 0: return "";
      case 1: return "..";
      case 2: return "a/b";
      case 3: return std::string("nul\0", 4);
      case 4: return std::string(kMaxNameBytes, 'x');
      case 5: return std::string(kMaxNameBytes + 1, 'x');
      case 6: return "\x1b[2J\xc2\x9b\xff\n";
      default:
        return "\xe2\x80\xae"
               "gol.1";
    }
  }
  std::string OldName(unsigned directory, unsigned choice) const {
    const Directory* const found = state_.FindDirectory(AnyDirectory(directory));
    if (Has(kWild) || found == nullptr || found->entries.empty()) return NewName(choice);
    return std::next(found->entries.begin(), static_cast<std::ptrdiff_t>(choice % found->entries.size()))
        ->first;
  }

  std::string AnyPlace() const {
    switch (record_.a % 6) {
      case 0: return "";
      case 1: return "boot /dev/shm/zenfs-0123456789abcdef-fedcba9876543210";
      case 2: return std::string(kMaxPlaceBytes, 'p');
      case 3: return std::string(kMaxPlaceBytes + (Has(kWild) ? 1 : 0), ' ');
      case 4: return "\x1b[2J\n\xff";
      default: return "boot";
    }
  }

  bool HasKey() const { return record_.b % 2 != 0; }
  std::string AnyKey() const {
    if (!HasKey()) return "";
    return std::string(kBufferKeyBytes - (Has(kWild) ? record_.b / 2 % 2 : 0), static_cast<char>(record_.n));
  }
  Uuid AnyPairKey() const {
    return {
        {static_cast<std::uint8_t>(Has(kWild) ? record_.b % 2 : 1), static_cast<std::uint8_t>(record_.n)}};
  }
  // A maker exists only for buffers with a key.
  std::uint32_t AnyMaker() const { return HasKey() || Has(kWild) ? record_.m : 0; }

  // --- edits ---
  std::vector<Edit> NewFile() const {
    const FileId id(Number(state_.next_id(), record_.n));
    const CreateFile create{.id = id,
                            .shape = static_cast<FileShape>(Has(kWild) ? record_.a : record_.a % 2),
                            .lifetime = AnyLifetime(record_.a / 2),
                            .mtime_seconds = Number(1000, record_.m)};
    if (Has(kBare)) return {create};
    return {RaiseCounters{id.value + 1, 0}, create,
            LinkFile{AnyDirectory(record_.b), NewName(record_.m), id}};
  }

  // Of names of up to the limit, and of paths beyond theirs.
  std::vector<Edit> NewChain() const {
    const std::uint64_t levels = 1 + record_.n % 320;
    const std::uint64_t first = state_.next_id();
    std::vector<Edit> edits{RaiseCounters{first + levels, 0}};
    for (std::uint64_t i = 0; i < levels; ++i) {
      const FileId parent = i == 0 ? AnyDirectory(record_.b) : FileId(first + i - 1);
      edits.push_back(
          CreateDirectory{FileId(first + i), parent, std::string(1 + record_.m % kMaxNameBytes, 'c'), 1});
    }
    return edits;
  }

  std::vector<Edit> NewDirectory() const {
    if (Has(kWild) && record_.a >= 128) return NewChain();
    const FileId id(Number(state_.next_id(), record_.n));
    const CreateDirectory create{id, AnyDirectory(record_.b), NewName(record_.m), Number(1000, record_.a)};
    if (Has(kBare)) return {create};
    return {RaiseCounters{id.value + 1, 0}, create};
  }

  std::vector<Edit> Rename() const {
    return {RenameEntry{AnyDirectory(record_.a), OldName(record_.a, record_.n), AnyDirectory(record_.b),
                        record_.m % 2 == 0 ? NewName(record_.m / 2) : OldName(record_.b, record_.m / 2)}};
  }

  // Other extents for the part of the file from `from` on.
  std::vector<Extent> OtherExtents(const FileRecord& file, std::uint64_t from) const {
    std::vector<Extent> extents;
    switch (record_.n % 4) {
      case 0: break;  // truncated
      case 1:
        std::ranges::copy_if(file.extents, std::back_inserter(extents),
                             [&](const Extent& extent) { return extent.file_offset >= from; });
        for (Extent& extent : extents) extent.crc.reset();
        break;
      case 2:
        if (const auto other = state_.FindFile(AnyFile(record_.m))) extents = other->extents;
        break;
      default: {
        const std::uint64_t zone = record_.m % geometry_.zones;
        const std::uint64_t at = record_.m / geometry_.zones % (geometry_.zone_size / block()) * block();
        const std::uint64_t blocks = 1 + record_.n / 4 % 8;
        extents.push_back({.file_offset = 0,
                           .place = DeviceOffset(zone * geometry_.zone_size + at),
                           .length = blocks * block() - record_.n / 32 % block(),
                           .crc = {}});
      }
    }
    std::uint64_t at = from;
    for (Extent& extent : extents) {
      extent.file_offset = at;
      at += extent.length;
    }
    return extents;
  }

  std::vector<Edit> NewExtents() const {
    const auto file = state_.FindFile(AnyFile(record_.a));
    if (file == nullptr) return {SetExtents{.id = AnyFile(record_.a)}};
    const std::size_t number = record_.b % (file->extents.size() + 1);
    const std::uint64_t from =
        number < file->extents.size() ? file->extents[number].file_offset : file->ExtentsEnd();
    SetExtents edit{.id = file->id, .from_offset = from, .extents = OtherExtents(*file, from), .size = from};
    if (!edit.extents.empty()) edit.size = edit.extents.back().end();
    if (Has(kWild)) MakeWild(edit);
    if (Has(kBare) || file->windows.empty()) return {edit};
    return {edit,
            SealLog{.id = file->id, .windows = {}, .next_sequence = file->next_sequence, .size = edit.size}};
  }
  void MakeWild(SetExtents& edit) const {
    const std::uint64_t wild = Number(0, record_.m);
    switch (record_.n / 4 % 6) {
      case 0: edit.from_offset = wild; break;
      case 1: edit.size = wild; break;
      case 2: edit.mtime_seconds = wild; break;
      case 3:
        for (Extent& extent : edit.extents) extent.place = DeviceOffset(wild);
        break;
      case 4:
        for (Extent& extent : edit.extents) extent.length = wild;
        break;
      default:
        for (Extent& extent : edit.extents) extent.file_offset = wild;
        break;
    }
  }

  std::vector<Edit> Seal() const {
    const auto file = state_.FindFile(AnyFile(record_.a));
    if (file == nullptr) return {SealLog{.id = AnyFile(record_.a)}};
    SealLog edit{.id = file->id,
                 .windows = file->windows,
                 .next_sequence = file->next_sequence,
                 .size = file->size,
                 .mtime_seconds = Number(1000, record_.m)};
    switch (record_.b % 4) {
      case 0:
        edit.windows.push_back({.epoch = state_.epoch() - record_.b / 4 % 2,
                                .first_sequence = edit.next_sequence,
                                .last_sequence = edit.next_sequence + record_.n % 4,
                                .end = Number(file->size + record_.n / 4 % 4096 + 1, record_.m)});
        edit.next_sequence = edit.windows.back().last_sequence + 1;
        edit.size = edit.windows.back().end;
        break;
      case 1:
        edit.windows.clear();
        edit.size = file->ExtentsEnd();
        break;
      case 2:
        if (!edit.windows.empty()) edit.windows.pop_back();
        edit.size = edit.windows.empty() ? file->ExtentsEnd() : edit.windows.back().end;
        break;
      default: edit.next_sequence = Number(edit.next_sequence, record_.n); break;
    }
    return {edit};
  }

  std::vector<Edit> Allocate() const {
    const std::uint64_t generation = Number(state_.next_generation(), record_.m);
    const AllocateLogZones edit{{LogZone{ZoneId(Has(kWild) ? record_.n : record_.n % geometry_.zones),
                                         generation, Number(record_.b, record_.b)}}};
    if (Has(kBare)) return {edit};
    return {edit, RaiseCounters{0, generation + 1}};
  }
  ZoneId AnyLogZone() const {
    if (Has(kWild) || state_.log_zones().empty()) return ZoneId(record_.n);
    const auto choice = static_cast<std::ptrdiff_t>(record_.n % state_.log_zones().size());
    return std::next(state_.log_zones().begin(), choice)->first;
  }

  const EmulatorGeometry& geometry_;
  const State& state_;
  const EditRecord& record_;
};

}  // namespace

std::vector<Edit> EditScript::Next(FuzzInput& input, std::uint8_t& flags) {
  std::vector<Edit> edits;
  State state = state_;  // after `edits`, as far as they are valid
  for (flags = 0; edits.size() < kEditsMax && !input.AtEnd() && (flags & kLast) == 0;) {
    const auto record = input.Take<EditRecord>();
    flags = record.flags;
    const std::vector<Edit> made = Maker(geometry_, state, record).Make();
    edits.insert(edits.end(), made.begin(), made.end());
    State next = state_;
    if (next.Apply(edits).ok()) {
      state = std::move(next);
    } else if ((flags & kKeep) == 0) {
      edits.resize(edits.size() - made.size());
    }
  }
  state_ = std::move(state);
  return edits;
}

}  // namespace zenfs
