#include "backends/emulator/power_loss.h"

#include <algorithm>

namespace zenfs {
namespace {

// The blocks from `first` to `end` that are not durable and for which `counts` is true.
template <typename Counts>
std::vector<std::uint64_t> AtRisk(std::uint64_t first, std::uint64_t end, DurableBlocks durable,
                                  Counts counts) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t block = first; block < end; ++block) {
    if (!durable.Contains(block) && counts(block)) blocks.push_back(block);
  }
  return blocks;
}

void AddHole(std::vector<LostBlocks>& holes, std::uint64_t block) {
  if (!holes.empty() && holes.back().first + holes.back().count == block) {
    ++holes.back().count;
  } else {
    holes.push_back({block, 1});
  }
}

// Of kSome, loses each block independently, with one probability for all: tests need both rare holes and rare survivors.
std::vector<LostBlocks> Holes(const std::vector<std::uint64_t>& at_risk, PowerLoss loss, Random& random) {
  constexpr std::uint64_t kOneIn[] = {0, 16, 4, 2};
  std::uint64_t one_in = loss == PowerLoss::kEverything ? 1 : 0;
  if (loss == PowerLoss::kSome) one_in = kOneIn[random.Below(4)];
  std::vector<LostBlocks> holes;
  if (one_in == 0) return holes;
  for (const std::uint64_t block : at_risk) {
    if (random.OneIn(one_in)) AddHole(holes, block);
  }
  return holes;
}

std::uint64_t CountOf(const std::vector<LostBlocks>& holes) {
  std::uint64_t blocks = 0;
  for (const LostBlocks& hole : holes) blocks += hole.count;
  return blocks;
}

bool IsIn(const std::vector<LostBlocks>& holes, std::uint64_t block) {
  return std::any_of(holes.begin(), holes.end(), [block](const LostBlocks& hole) {
    return block >= hole.first && block - hole.first < hole.count;
  });
}

// Where the write pointer of a zone is that had `lowest` as the lowest possible one, in steps.
std::uint64_t PointerAfter(std::uint64_t before, std::uint64_t lowest, std::uint64_t step, PowerLoss loss,
                           Random& random) {
  switch (loss) {
    case PowerLoss::kNothing: return before;
    case PowerLoss::kEverything: return lowest;
    case PowerLoss::kSome: return lowest + random.Below((before - lowest) / step + 1) * step;
  }
  return before;
}

ZoneCondition ConditionAfter(MachineZone before, std::uint64_t written, bool may_become_active) {
  if (before.condition == ZoneCondition::kReadOnly) return before.condition;
  if (before.condition == ZoneCondition::kFull && written == before.written) return before.condition;
  if (written == 0) return ZoneCondition::kEmpty;
  if (before.condition == ZoneCondition::kFull && !may_become_active) return before.condition;
  return ZoneCondition::kClosed;
}

}  // namespace

ZoneAfterPowerLoss LosePower(MachineZone before, DurableBlocks durable, PowerLoss loss,
                             bool may_become_active, Random& random) {
  const auto any = [](std::uint64_t) { return true; };
  ZoneAfterPowerLoss after{.state = before};
  after.at_risk = AtRisk(durable.prefix, before.written, durable, any).size();
  const std::uint64_t lowest = std::min(before.written, durable.end());
  after.state.written = PointerAfter(before.written, lowest, 1, loss, random);
  after.holes = Holes(AtRisk(durable.prefix, after.state.written, durable, any), loss, random);
  after.state.condition = ConditionAfter(before, after.state.written, may_become_active);
  after.durable.prefix = after.state.written;
  after.lost = before.written - after.state.written + CountOf(after.holes);
  return after;
}

ZoneAfterPowerLoss LosePowerInArea(const RandomWindow& window, BlockSet written, DurableBlocks durable,
                                   PowerLoss loss, Random& random) {
  const auto has_data = [&](std::uint64_t block) {
    return block < window.start || (written & BitOf(block)) != 0;
  };
  RandomWindow left = window;
  // Rounded up for a damaged prefix that is no multiple of the unit.
  const std::uint64_t lowest = RoundUp(durable.prefix, window.unit);
  left.start = PointerAfter(window.start, lowest, window.unit, loss, random);
  ZoneAfterPowerLoss after{.state = {ZoneCondition::kClosed, left.start, true}};
  after.at_risk = AtRisk(durable.prefix, window.end(), durable, has_data).size();
  after.holes = Holes(AtRisk(durable.prefix, left.end(), durable, has_data), loss, random);
  after.durable.prefix = left.start;
  for (std::uint64_t block = left.start; block < left.end(); ++block) {
    if (durable.Contains(block) || (has_data(block) && !IsIn(after.holes, block))) {
      after.durable.area |= BitOf(block);
    }
  }
  for (const std::uint64_t block : AtRisk(left.end(), window.end(), durable, has_data))
    AddHole(after.holes, block);
  after.lost = CountOf(after.holes);
  return after;
}

PowerLoss RandomPowerLoss(Random& random) {
  switch (random.Below(4)) {
    case 0: return PowerLoss::kEverything;
    case 1: return PowerLoss::kNothing;
    default: return PowerLoss::kSome;
  }
}

}  // namespace zenfs
