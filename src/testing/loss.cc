#include "testing/loss.h"

#include <algorithm>
#include <set>

namespace zenfs {
namespace {

// The state of the zone after the first `cut` commands.
MachineZone StateAfter(const ZoneHistory& history, std::size_t cut) {
  return cut == 0 ? history.durable.state : history.pending[cut - 1].after;
}

bool FullByWriting(const ZoneHistory& history, std::size_t cut) {
  return cut != 0 && history.pending[cut - 1].kind == ZoneCommand::Kind::kWrite &&
         StateAfter(history, cut).condition == ZoneCondition::kFull;
}

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

// The content of a block of a conventional zone at the last flush.
BlockRef BlockBefore(const ZoneHistory& history, std::uint64_t block) {
  return block < history.durable.blocks.size() ? history.durable.blocks[block] : nullptr;
}

bool IsConventional(const ZoneImage& image) {
  return image.state.condition == ZoneCondition::kNotWritePointer;
}

// After power-up no zone is open, and a zone without data is empty.
void CloseOpenZone(MachineZone& state) {
  if (!IsActive(state.condition)) return;
  state.condition = state.written == 0 ? ZoneCondition::kEmpty : ZoneCondition::kClosed;
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

}  // namespace

std::vector<std::uint64_t> UnflushedBlocks(const ZoneHistory& history, std::size_t cut) {
  std::set<std::uint64_t> blocks;
  for (std::size_t i = 0; i < cut; ++i) {
    const ZoneCommand& command = history.pending[i];
    if (command.kind == ZoneCommand::Kind::kReset) blocks.clear();
    if (command.kind != ZoneCommand::Kind::kWrite) continue;
    for (std::size_t b = 0; b < command.blocks.size(); ++b) blocks.insert(command.first_block + b);
  }
  return {blocks.begin(), blocks.end()};
}

ZoneImage AfterLoss(const ZoneHistory& history, const ZoneLoss& loss, std::uint32_t block_size,
                    Random& random) {
  ZoneImage image = history.durable;
  for (std::size_t i = 0; i < loss.cut; ++i) Apply(image, history.pending[i]);
  const bool conventional = IsConventional(image);
  for (const auto& [block, hole] : loss.holes) {
    image.blocks[block] = conventional
                              ? BlockBefore(history, block)  // the old content: the overwrite is lost
                              : HoleAt(image, block, hole, block_size, random);
  }
  if (loss.written && *loss.written != image.state.written) {
    image.state = {ZoneCondition::kClosed, *loss.written};
    image.blocks.resize(*loss.written);
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
    if (missing) loss.holes[unflushed[i]] = static_cast<Hole>(random.Below(3));
  }
  if (MayMovePointer(history, loss.cut)) {
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
    const auto hole = static_cast<Hole>(random.Below(3));
    BlockRef content = IsConventional(history.live) ? BlockBefore(history, block)
                                                    : HoleAt(history.live, block, hole, block_size, random);
    drops.push_back({ZoneCommand::Kind::kDrop, block, {std::move(content)}, history.live.state});
  }
  return drops;
}

std::vector<ZoneLoss> EnumerateLosses(const ZoneHistory& history, std::size_t max_subset_blocks) {
  std::vector<ZoneLoss> losses;
  for (std::size_t cut = 0; cut <= history.pending.size(); ++cut) {
    for (const auto& missing : Subsets(UnflushedBlocks(history, cut), max_subset_blocks)) {
      for (const Hole hole : {Hole::kZeros, Hole::kOldData, Hole::kUnreadable}) {
        ZoneLoss loss{.cut = cut, .holes = {}, .written = {}};
        for (const std::uint64_t block : missing) loss.holes[block] = hole;
        losses.push_back(loss);
        const std::uint64_t lowest = LowestPointer(history, cut, loss.holes);
        if (MayMovePointer(history, cut) && lowest != StateAfter(history, cut).written) {
          loss.written = lowest;
          std::erase_if(loss.holes, [&](const auto& h) { return h.first >= lowest; });
          losses.push_back(loss);
        }
        if (missing.empty()) break;  // without holes there are no kinds of holes
      }
    }
  }
  return losses;
}

}  // namespace zenfs
