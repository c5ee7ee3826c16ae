// Contents and state of one zone of a CrashDevice, and its commands that may still be lost. Copies
// are cheap: blocks are shared and immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/bytes.h"

namespace zenfs {

struct Block {
  std::vector<std::byte> bytes;
  bool unreadable = false;  // reads return a medium error
};
using BlockRef = std::shared_ptr<const Block>;  // null: zeros
using Blocks = std::vector<BlockRef>;

struct ZoneImage {
  MachineZone state;
  Blocks blocks;    // written blocks, also those of a random write area; blocks beyond the end are zeros
  Blocks previous;  // contents before the last reset; may reappear in holes
};

// An executed state-changing command.
struct ZoneCommand {
  enum class Kind {
    kWrite,   // writes and appends
    kRandom,  // a write to a zone with a random write area: each block replaces another or zeros
    kReset,
    kState,  // finish, open, close, implicit close, commit
    kDrop,   // a failed flush lost a block: reads find it in the cache until the cache is lost
  };
  Kind kind = Kind::kState;
  std::uint64_t first_block = 0;  // kWrite, kRandom, kDrop
  Blocks blocks;                  // kWrite, kRandom: data; kDrop: the content of the medium
  MachineZone after;
};

// The state of a zone at the last flush, and all later commands.
struct ZoneHistory {
  ZoneImage durable;
  std::vector<ZoneCommand> pending;
  ZoneImage live;
  std::uint64_t area = 0;  // the blocks of a random write area, if the zone gets one

  // Applies `command` to the live image and keeps it as one that may be lost.
  void Add(ZoneCommand command);
  void Flush();
  // Loses the cache only: blocks that a flush lost show their content on the medium.
  void LoseCache();
};

void Apply(ZoneImage& image, const ZoneCommand& command);

}  // namespace zenfs
