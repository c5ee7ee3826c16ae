// The model of a power loss: a zone with its commands that are not flushed yet, and what may be left of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/bytes.h"
#include "base/random.h"

namespace zenfs {

// Contents and state of one zone of a CrashDevice, and its commands that may still be lost. Copies
// are cheap: blocks are shared and immutable.
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

// Effects of a power loss on the unflushed commands of one zone, after
// docs/internals/device-assumptions.md 1 to 3: commands after a cut never happened; any of the
// blocks written since the last reset before the cut may be lost; the write pointer is anywhere at
// or above the highest surviving block.
//
// In a zone with a random write area, a lost block has the content that it had at the last flush, or is unreadable (24 there). The
// write pointer is where one of the commands since then left it.

enum class Hole {
  kZeros,       // of a random write area: the content at the last flush
  kOldData,     // data from before the last reset, otherwise random bytes
  kUnreadable,  // a medium error
};

struct ZoneLoss {
  std::size_t cut = 0;                   // how many of the pending commands happened
  std::map<std::uint64_t, Hole> holes;   // lost blocks, each written since the last flush
  std::optional<std::uint64_t> written;  // the write pointer, in blocks; none: as the commands left it
};

// The unflushed blocks that may be lost, if the first `cut` commands happened; ascending.
[[nodiscard]] std::vector<std::uint64_t> UnflushedBlocks(const ZoneHistory& history, std::size_t cut);

// The zone after power-up: open zones are closed. `random` fills holes with random bytes.
[[nodiscard]] ZoneImage AfterLoss(const ZoneHistory& history, const ZoneLoss& loss, std::uint32_t block_size,
                                  Random& random);

[[nodiscard]] ZoneLoss RandomLoss(const ZoneHistory& history, Random& random);

// The blocks that a failed flush may lose permanently: any of the unflushed blocks, each as a command
// of kind kDrop.
[[nodiscard]] std::vector<ZoneCommand> RandomDrops(const ZoneHistory& history, std::uint32_t block_size,
                                                   Random& random);

// Every cut. For each cut every subset of lost blocks if at most `max_subset_blocks` can be lost,
// otherwise none, all, each alone, and each prefix; every kind of hole; the highest and the lowest
// write pointer. The blocks of a random write area are old or new.
[[nodiscard]] std::vector<ZoneLoss> EnumerateLosses(const ZoneHistory& history,
                                                    std::size_t max_subset_blocks = 4);

}  // namespace zenfs
