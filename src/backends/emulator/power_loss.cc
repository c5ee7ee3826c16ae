#include "backends/emulator/power_loss.h"

#include <algorithm>

namespace zenfs {
namespace {

// Of kSome, loses each block independently, with one probability for all: tests need both rare holes and rare survivors.
void Draw(LostBlocks& lost, PowerLoss loss, Random& random) {
  constexpr std::uint64_t kOneIn[] = {0, 16, 4, 2};
  lost.one_in = loss == PowerLoss::kEverything ? 1 : 0;
  if (loss == PowerLoss::kSome) {
    lost.one_in = kOneIn[random.Below(4)];
    lost.seed = random.Next();
  }
  if (lost.one_in == 0) lost.first = lost.all_from;
}

// The blocks from durable.prefix to `end` that have data and are not durable.
std::uint64_t CountAtRisk(const LostBlocks& lost, std::uint64_t end) {
  const std::uint64_t prefix = lost.durable.prefix;
  const std::uint64_t sure = std::min(lost.area_from, end);  // all blocks below have data
  std::uint64_t blocks = sure - prefix;
  for (std::uint64_t block = prefix; block < std::min(sure, prefix + kBlockSetSize); ++block)
    blocks -= lost.durable.Contains(block) ? 1 : 0;
  for (std::uint64_t block = sure; block < end; ++block)
    blocks += lost.HasData(block) && !lost.durable.Contains(block) ? 1 : 0;
  return blocks;
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

bool LostBlocks::Contains(std::uint64_t block) const {
  if (block < first || block >= end || durable.Contains(block) || !HasData(block)) return false;
  return block >= all_from || (one_in != 0 && Random(seed + block).OneIn(one_in));
}

ZoneAfterPowerLoss LosePower(MachineZone before, DurableBlocks durable, PowerLoss loss,
                             bool may_become_active, Random& random) {
  ZoneAfterPowerLoss after{.state = before};
  after.lost.durable = durable;
  after.at_risk = CountAtRisk(after.lost, before.written);
  const std::uint64_t lowest = std::min(before.written, durable.end());
  after.state.written = PointerAfter(before.written, lowest, 1, loss, random);
  after.lost.first = durable.prefix;
  after.lost.end = after.lost.all_from = after.state.written;
  Draw(after.lost, loss, random);
  after.state.condition = ConditionAfter(before, after.state.written, may_become_active);
  after.durable.prefix = after.state.written;
  after.moved_back = before.written - after.state.written;
  return after;
}

ZoneAfterPowerLoss LosePowerInArea(const RandomWindow& window, BlockSet written, DurableBlocks durable,
                                   PowerLoss loss, Random& random) {
  RandomWindow left = window;
  // Rounded up for a damaged prefix that is no multiple of the unit.
  const std::uint64_t lowest = RoundUp(durable.prefix, window.unit);
  left.start = PointerAfter(window.start, lowest, window.unit, loss, random);
  ZoneAfterPowerLoss after{.state = {ZoneCondition::kClosed, left.start, true}};
  LostBlocks& lost = after.lost;
  lost = {.first = durable.prefix,
          .end = window.end(),
          .all_from = left.end(),
          .durable = durable,
          .area_from = window.start,
          .written = written};
  after.at_risk = CountAtRisk(lost, window.end());
  Draw(lost, loss, random);
  after.durable.prefix = left.start;
  for (std::uint64_t block = left.start; block < left.end(); ++block) {
    if (durable.Contains(block) || (lost.HasData(block) && !lost.Contains(block))) {
      after.durable.area |= BitOf(block);
    }
  }
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
