#include "testing/loss.h"

#include <algorithm>
#include <set>

namespace zenfs {

void Apply(ZoneImage& image, const ZoneCommand& command) {
  switch (command.kind) {
    case ZoneCommand::Kind::kWrite:
    case ZoneCommand::Kind::kRandom:
    case ZoneCommand::Kind::kDrop: {
      const std::uint64_t end = command.first_block + command.blocks.size();
      if (image.blocks.size() < end) image.blocks.resize(end);
      std::copy(command.blocks.begin(), command.blocks.end(),
                image.blocks.begin() + static_cast<std::ptrdiff_t>(command.first_block));
      break;
    }
    case ZoneCommand::Kind::kReset:
      if (!image.blocks.empty()) image.previous = std::move(image.blocks);
      image.blocks.clear();
      break;
    case ZoneCommand::Kind::kState: break;
  }
  image.state = command.after;
}

void ZoneHistory::Add(ZoneCommand command) {
  if (command.kind != ZoneCommand::Kind::kDrop) Apply(live, command);
  pending.push_back(std::move(command));
}

void ZoneHistory::Flush() {
  for (const ZoneCommand& command : pending) Apply(durable, command);
  pending.clear();
}

void ZoneHistory::LoseCache() {
  live = durable;
  for (const ZoneCommand& command : pending) Apply(live, command);
}

// --- what a power loss leaves ---

namespace {

// The state of the zone after the first `cut` commands.
MachineZone StateAfter(const ZoneHistory& history, std::size_t cut) {
  return cut == 0 ? history.durable.state : history.pending[cut - 1].after;
}

bool FullByWriting(const ZoneHistory& history, std::size_t cut) {
  return cut != 0 && history.pending[cut - 1].kind == ZoneCommand::Kind::kWrite &&
         StateAfter(history, cut).condition == ZoneCondition::kFull;
}

bool HasArea(const ZoneHistory& history, std::size_t cut) { return StateAfter(history, cut).random_area; }

// The write pointer can be lower than the commands left it only if the zone still has one.
bool MayMovePointer(const ZoneHistory& history, std::size_t cut) {
  return IsActive(StateAfter(history, cut).condition) || FullByWriting(history, cut);
}

// The write pointer is never below the flushed blocks, nor below a block that survives.
std::uint64_t LowestPointer(const ZoneHistory& history, std::size_t cut,
                            const std::map<std::uint64_t, Hole>& holes) {
  std::uint64_t lowest = StateAfter(history, cut).written;
  const auto unflushed = UnflushedBlocks(history, cut);
  for (auto block = unflushed.rbegin(); block != unflushed.rend(); ++block) {
    if (*block + 1 != lowest || !holes.contains(*block)) break;
    --lowest;
  }
  return lowest;
}

BlockRef OldBlock(const ZoneImage& image, std::uint64_t block, std::uint32_t block_size, Random& random) {
  if (block < image.previous.size() && image.previous[block] != nullptr) return image.previous[block];
  Block hole;
  hole.bytes.resize(block_size);
  random.Fill(hole.bytes);
  return std::make_shared<const Block>(std::move(hole));
}

BlockRef HoleAt(const ZoneImage& image, std::uint64_t block, Hole hole, std::uint32_t block_size,
                Random& random) {
  static const BlockRef kUnreadable = std::make_shared<const Block>(Block{{}, true});
  switch (hole) {
    case Hole::kZeros: return nullptr;
    case Hole::kOldData: return OldBlock(image, block, block_size, random);
    case Hole::kUnreadable: return kUnreadable;
  }
  return nullptr;
}

// The content of a block at the last flush, of a zone that was not reset since.
BlockRef BlockBefore(const ZoneHistory& history, std::uint64_t block) {
  return block < history.durable.blocks.size() ? history.durable.blocks[block] : nullptr;
}

bool IsConventional(const ZoneImage& image) {
  return image.state.condition == ZoneCondition::kNotWritePointer;
}

// Where the commands of the zone's present incarnation begin: behind the last reset.
std::size_t IncarnationStart(const ZoneHistory& history, std::size_t cut) {
  std::size_t start = cut;
  while (start > 0 && history.pending[start - 1].kind != ZoneCommand::Kind::kReset) --start;
  return start;
}

// Whether the unflushed blocks were written to a random write area, also if the zone is full now.
bool WrittenAtRandom(const ZoneHistory& history, std::size_t cut) {
  for (std::size_t i = IncarnationStart(history, cut); i < cut; ++i) {
    if (history.pending[i].kind == ZoneCommand::Kind::kRandom) return true;
  }
  return false;
}

// The content of a lost block; `image` is that of the zone after the first `cut` commands.
BlockRef LostBlock(const ZoneHistory& history, std::size_t cut, const ZoneImage& image, std::uint64_t block,
                   Hole hole, std::uint32_t block_size, Random& random) {
  if (IsConventional(image)) return BlockBefore(history, block);  // the overwrite is lost
  if (!WrittenAtRandom(history, cut)) return HoleAt(image, block, hole, block_size, random);
  // A block that was replaced may be lost, with what was in it (docs/internals/device-assumptions.md 24).
  if (hole == Hole::kUnreadable) return HoleAt(image, block, hole, block_size, random);
  return IncarnationStart(history, cut) == 0 ? BlockBefore(history, block) : nullptr;
}

// The positions where the write pointer of a zone with a random write area may be, ascending.
std::vector<std::uint64_t> PointersOfArea(const ZoneHistory& history, std::size_t cut) {
  std::set<std::uint64_t> pointers;
  for (std::size_t i = IncarnationStart(history, cut); i <= cut; ++i) {
    if (HasArea(history, i)) pointers.insert(StateAfter(history, i).written);
  }
  return {pointers.begin(), pointers.end()};
}

Hole RandomHole(const ZoneHistory& history, std::size_t cut, Random& random) {
  if (!WrittenAtRandom(history, cut)) return static_cast<Hole>(random.Below(3));
  return random.OneIn(3) ? Hole::kUnreadable : Hole::kZeros;
}

// After power-up no zone is open, and a zone without data is empty.
void CloseOpenZone(MachineZone& state) {
  if (!IsActive(state.condition)) return;
  const bool empty = state.written == 0 && !state.random_area;
  state.condition = empty ? ZoneCondition::kEmpty : ZoneCondition::kClosed;
}

std::vector<std::vector<std::uint64_t>> Subsets(const std::vector<std::uint64_t>& blocks,
                                                std::size_t max_blocks) {
  std::vector<std::vector<std::uint64_t>> subsets;
  if (blocks.size() <= max_blocks) {
    for (std::uint64_t mask = 0; mask < std::uint64_t{1} << blocks.size(); ++mask) {
      auto& subset = subsets.emplace_back();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if ((mask >> i & 1) != 0) subset.push_back(blocks[i]);
      }
    }
    return subsets;
  }
  subsets.emplace_back();
  for (const std::uint64_t block : blocks) subsets.push_back({block});
  for (std::size_t keep = 0; keep + 1 < blocks.size(); ++keep) {
    subsets.emplace_back(blocks.begin() + static_cast<std::ptrdiff_t>(keep), blocks.end());
  }
  return subsets;
}

// Adds `loss` with the lowest possible write pointer, if that is another one.
void AddLowestPointer(const ZoneHistory& history, ZoneLoss loss, std::vector<ZoneLoss>& losses) {
  const bool area = HasArea(history, loss.cut);
  if (!area && !MayMovePointer(history, loss.cut)) return;
  const std::uint64_t lowest =
      area ? PointersOfArea(history, loss.cut).front() : LowestPointer(history, loss.cut, loss.holes);
  if (lowest == StateAfter(history, loss.cut).written) return;
  loss.written = lowest;
  if (!area) std::erase_if(loss.holes, [&](const auto& h) { return h.first >= lowest; });
  losses.push_back(std::move(loss));
}

}  // namespace

std::vector<std::uint64_t> UnflushedBlocks(const ZoneHistory& history, std::size_t cut) {
  std::set<std::uint64_t> blocks;
  for (std::size_t i = 0; i < cut; ++i) {
    const ZoneCommand& command = history.pending[i];
    if (command.kind == ZoneCommand::Kind::kReset) blocks.clear();
    if (command.kind != ZoneCommand::Kind::kWrite && command.kind != ZoneCommand::Kind::kRandom) continue;
    for (std::size_t b = 0; b < command.blocks.size(); ++b) blocks.insert(command.first_block + b);
  }
  return {blocks.begin(), blocks.end()};
}

ZoneImage AfterLoss(const ZoneHistory& history, const ZoneLoss& loss, std::uint32_t block_size,
                    Random& random) {
  ZoneImage image = history.durable;
  for (std::size_t i = 0; i < loss.cut; ++i) Apply(image, history.pending[i]);
  const ZoneImage kept = image;
  for (const auto& [block, hole] : loss.holes) {
    image.blocks[block] = LostBlock(history, loss.cut, kept, block, hole, block_size, random);
  }
  if (loss.written && *loss.written != image.state.written) {
    const bool area = image.state.random_area;
    image.state = {ZoneCondition::kClosed, *loss.written, area};
    // Blocks behind the area can't be read, and later ones are zeros.
    image.blocks.resize(area ? std::min(image.blocks.size(), *loss.written + history.area) : *loss.written);
  }
  CloseOpenZone(image.state);
  return image;
}

ZoneLoss RandomLoss(const ZoneHistory& history, Random& random) {
  ZoneLoss loss;
  const std::size_t count = history.pending.size();
  loss.cut = random.OneIn(3) ? count : random.Below(count + 1);
  if (random.OneIn(2)) return loss;
  const auto unflushed = UnflushedBlocks(history, loss.cut);
  const std::uint64_t eighths = 1 + random.Below(8);  // share of the blocks that are lost, in eighths
  const bool tail_only = random.OneIn(3);
  const std::uint64_t tail = tail_only ? random.Below(unflushed.size() + 1) : 0;
  for (std::size_t i = 0; i < unflushed.size(); ++i) {
    const bool missing = tail_only ? i >= tail : random.Below(8) < eighths;
    if (missing) loss.holes[unflushed[i]] = RandomHole(history, loss.cut, random);
  }
  if (HasArea(history, loss.cut)) {
    const auto pointers = PointersOfArea(history, loss.cut);
    loss.written = pointers[random.Below(pointers.size())];
  } else if (MayMovePointer(history, loss.cut)) {
    const std::uint64_t lowest = LowestPointer(history, loss.cut, loss.holes);
    loss.written = lowest + random.Below(StateAfter(history, loss.cut).written - lowest + 1);
    std::erase_if(loss.holes, [&](const auto& hole) { return hole.first >= *loss.written; });
  }
  return loss;
}

std::vector<ZoneCommand> RandomDrops(const ZoneHistory& history, std::uint32_t block_size, Random& random) {
  std::vector<ZoneCommand> drops;
  const std::uint64_t eighths = 1 + random.Below(8);  // share of the blocks that are lost, in eighths
  for (const std::uint64_t block : UnflushedBlocks(history, history.pending.size())) {
    if (random.Below(8) >= eighths) continue;
    const Hole hole = RandomHole(history, history.pending.size(), random);
    BlockRef content =
        LostBlock(history, history.pending.size(), history.live, block, hole, block_size, random);
    drops.push_back({ZoneCommand::Kind::kDrop, block, {std::move(content)}, history.live.state});
  }
  return drops;
}

std::vector<ZoneLoss> EnumerateLosses(const ZoneHistory& history, std::size_t max_subset_blocks) {
  std::vector<ZoneLoss> losses;
  for (std::size_t cut = 0; cut <= history.pending.size(); ++cut) {
    const bool at_random = WrittenAtRandom(history, cut);
    for (const auto& missing : Subsets(UnflushedBlocks(history, cut), max_subset_blocks)) {
      for (const Hole hole : {Hole::kZeros, Hole::kOldData, Hole::kUnreadable}) {
        ZoneLoss loss{.cut = cut, .holes = {}, .written = {}};
        for (const std::uint64_t block : missing) loss.holes[block] = hole;
        losses.push_back(loss);
        AddLowestPointer(history, std::move(loss), losses);
        if (missing.empty() || at_random) break;  // without holes there are no kinds of holes
      }
    }
  }
  return losses;
}

}  // namespace zenfs
