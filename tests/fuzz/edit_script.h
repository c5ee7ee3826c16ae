// Lists of edits as sequences of records of one size. Ids, names, places and numbers in a record
// select from those of the state. Inputs that the fuzzer changes are therefore still lists of
// edits, and most of them are valid.
//
//    record := u8 kind, u8 flags, u8 a, u8 b, u16 n, u16 m        a list: records up to one with kLast
#pragma once

#include <cstdint>
#include <vector>

#include "backends/emulator/emulator_geometry.h"
#include "input.h"
#include "model/edit.h"
#include "model/state.h"

namespace zenfs {

struct EditRecord {
  std::uint8_t kind;  // EditKind, modulo the number of kinds
  std::uint8_t flags;
  std::uint8_t a;
  std::uint8_t b;
  std::uint16_t n;
  std::uint16_t m;
};
static_assert(sizeof(EditRecord) == 8);

// In the order of the variant Edit.
enum class EditKind : std::uint8_t {
  kCreateFile,
  kCreateDirectory,
  kLinkFile,
  kUnlinkFile,
  kRenameEntry,
  kRemoveDirectory,
  kSetExtents,
  kSealLog,
  kSetLifetime,
  kAllocateLogZones,
  kReleaseLogZones,
  kBeginEpoch,
  kRaiseCounters,
  kSetBufferPlace,
  kMarkSyncZone,
  kSetPairKey,
  kCount,
};
static_assert(static_cast<std::size_t>(EditKind::kCount) == std::variant_size_v<Edit>);

enum EditFlags : std::uint8_t {
  kLast = 1,   // last of its list
  kKeep = 2,   // keep the edit even if the state refuses it
  kWild = 4,   // numbers that no writer reaches, invalid names
  kBare = 8,   // without the edits that belong to it
  kJoin = 16,  // in the last record: the next list is in the same frame
};

class EditScript {
 public:
  // Selects from `state`, and applies valid lists to it.
  EditScript(const EmulatorGeometry& geometry, State state) : geometry_(geometry), state_(std::move(state)) {}

  // Returns one list, and sets `flags` to those of its last record.
  std::vector<Edit> Next(FuzzInput& input, std::uint8_t& flags);

 private:
  const EmulatorGeometry geometry_;
  State state_;
};

}  // namespace zenfs
