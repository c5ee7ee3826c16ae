// Contents and state of one zone of a CrashDevice, and the commands that may still be lost. Copies are cheap:
// blocks are shared and never change.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/bytes.h"

namespace zenfs {

struct Block {
  std::vector<std::byte> bytes;
  bool unreadable = false;  // reading it is an error of the medium
};
using BlockRef = std::shared_ptr<const Block>;  // null: zeros
using Blocks = std::vector<BlockRef>;

struct ZoneImage {
  MachineZone state;
  Blocks blocks;    // those that were written; any behind the end are zeros
  Blocks previous;  // what stood there before the last reset: shines through holes
};

// A state-changing command that was carried out.
struct ZoneCommand {
  enum class Kind {
    kWrite,  // writes and appends
    kReset,
    kState,  // finish, open, close, and closed implicitly
    kDrop,   // a flush failed and lost a block: reads find it in the cache until that is gone
  };
  Kind kind = Kind::kState;
  std::uint64_t first_block = 0;  // kWrite, kDrop
  Blocks blocks;                  // kWrite; kDrop: what stands there instead
  MachineZone after;
};

// What a zone was at the last flush, and everything since.
struct ZoneHistory {
  ZoneImage durable;
  std::vector<ZoneCommand> pending;
  ZoneImage live;

  // Carries `command` out on the live image and keeps it as one that may be lost.
  void Add(ZoneCommand command);
  void Flush();
  // The cache is gone, and nothing else: what was dropped shows.
  void LoseCache();
};

void Apply(ZoneImage& image, const ZoneCommand& command);

}  // namespace zenfs
