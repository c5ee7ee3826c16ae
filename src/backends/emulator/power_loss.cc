#include "backends/emulator/power_loss.h"

namespace zenfs {
namespace {

// Loses each block independently, with one probability for all: tests need both rare holes and rare
// survivors.
std::vector<LostBlocks> RandomHoles(std::uint64_t first, std::uint64_t end, Random& random) {
  constexpr std::uint64_t kOneIn[] = {0, 16, 4, 2};
  const std::uint64_t one_in = kOneIn[random.Below(4)];
  std::vector<LostBlocks> holes;
  if (one_in == 0) return holes;
  for (std::uint64_t block = first; block < end; ++block) {
    if (!random.OneIn(one_in)) continue;
    if (!holes.empty() && holes.back().first + holes.back().count == block) {
      ++holes.back().count;
    } else {
      holes.push_back({block, 1});
    }
  }
  return holes;
}

ZoneCondition ConditionAfter(MachineZone before, std::uint64_t written, bool may_become_active) {
  if (before.condition == ZoneCondition::kReadOnly) return before.condition;
  if (before.condition == ZoneCondition::kFull && written == before.written) return before.condition;
  if (written == 0) return ZoneCondition::kEmpty;
  if (before.condition == ZoneCondition::kFull && !may_become_active) return before.condition;
  return ZoneCondition::kClosed;
}

}  // namespace

ZoneAfterPowerLoss LosePower(MachineZone before, std::uint64_t durable, PowerLoss loss,
                             bool may_become_active, Random& random) {
  ZoneAfterPowerLoss after{.state = before};
  switch (loss) {
    case PowerLoss::kNothing: break;
    case PowerLoss::kEverything: after.state.written = durable; break;
    case PowerLoss::kSome:
      after.state.written = durable + random.Below(before.written - durable + 1);
      after.holes = RandomHoles(durable, after.state.written, random);
      break;
  }
  after.state.condition = ConditionAfter(before, after.state.written, may_become_active);
  after.lost = before.written - after.state.written;
  for (const LostBlocks& hole : after.holes) after.lost += hole.count;
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
