// Lists of edits as rows of records of one size. An id, a name, a place or a number of a record is a choice among those that
// the state has, so that what a fuzzer changes is a list of edits still, and most lists fit the state.
//
//   record := u8 kind, u8 flags, u8 a, u8 b, u16 n, u16 m        a list: records up to one with kLast
#pragma once

#include <cstdint>
#include <vector>

#include "backends/emulator/emulator_geometry.h"
#include "input.h"
#include "model/edit.h"
#include "model/state.h"

namespace zenfs {

struct EditRecord {
  std::uint8_t kind;  // EditKind, modulo their number
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
  kReserveLogZones,
  kReleaseLogZones,
  kBeginEpoch,
  kRaiseCounters,
  kSetBufferPlace,
  kCount,
};
static_assert(static_cast<std::size_t>(EditKind::kCount) == std::variant_size_v<Edit>);

enum EditFlags : std::uint8_t {
  kLast = 1,   // of its list
  kKeep = 2,   // also if the state refuses it; else such an edit is left out
  kWild = 4,   // numbers that no writer comes to, names that can't be
  kBare = 8,   // without the edits that must come with it
  kJoin = 16,  // of the last record: the next list stands in the same frame
};

class EditScript {
 public:
  // Chooses from `state`, and follows it through the lists that fit.
  EditScript(const EmulatorGeometry& geometry, State state) : geometry_(geometry), state_(std::move(state)) {}

  // One list. `flags` becomes those of its last record.
  std::vector<Edit> Next(FuzzInput& input, std::uint8_t& flags);

 private:
  const EmulatorGeometry geometry_;
  State state_;
};

}  // namespace zenfs
