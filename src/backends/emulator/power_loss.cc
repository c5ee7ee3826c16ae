#include "backends/emulator/power_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/emulator/file_store.h"
#include "backends/emulator/volatile_cache.h"
#include "backends/emulator/zone_machine.h"
#include "base/assert.h"

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
  ZENFS_ASSERT(durable.prefix <= before.written && !before.random_area);
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

namespace {

class PowerCut {
 public:
  PowerCut(FileStore& store, std::uint64_t seed)
      : store_(store), zones_(store.geometry().zones), machine_(store.geometry()), random_(seed) {}

  Result<PowerCutLosses> CarryOut() {
    ZENFS_RETURN_IF_ERROR(LoadStates());
    // Half of the time all zones have the same outcome, otherwise each zone its own.
    if (random_.OneIn(2)) fate_ = RandomPowerLoss(random_);
    // Starts at a random zone, so that not always the same zones get the last free active slots.
    const auto first = static_cast<std::uint32_t>(random_.Below(zones_));
    for (std::uint32_t i = 0; i < zones_; ++i) ZENFS_RETURN_IF_ERROR(Cut(ZoneId((first + i) % zones_)));
    return losses_;
  }

 private:
  Status LoadStates() {
    for (std::uint32_t i = 0; i < zones_; ++i) {
      ZENFS_ASSIGN_OR_RETURN(const MachineZone state, store_.LoadState(ZoneId(i)));
      ZENFS_RETURN_IF_ERROR(machine_.Restore(ZoneId(i), state));
    }
    return {};
  }

  Status Cut(ZoneId zone) {
    const MachineZone before = machine_.state(zone);
    if (before.condition == ZoneCondition::kNotWritePointer || before.condition == ZoneCondition::kOffline)
      return {};
    const DurableBlocks durable = store_.LoadDurable(zone);
    if (durable.prefix == before.written && !IsActive(before.condition)) return {};
    const PowerLoss loss = fate_.value_or(RandomPowerLoss(random_));
    ZoneAfterPowerLoss after;
    if (before.random_area) {
      const RandomWindow window = machine_.Window(zone);
      ZENFS_ASSIGN_OR_RETURN(const BlockSet written,
                             WrittenBlocks(store_, zone, window, store_.geometry().block_size));
      after = LosePowerInArea(window, written, durable, loss, random_);
    } else {
      const std::uint32_t limit = store_.geometry().max_active;
      after = LosePower(before, durable, loss, limit == 0 || machine_.counts().active() < limit, random_);
    }
    return Store(zone, after);
  }

  // If the process dies in between, the zone has lost a part of its blocks. The order is: holes
  // below the pointer and in a random write area, the pointer, the durable blocks. The space beyond the
  // pointer is freed last; nobody can read it. An area that moved back has no holes there: what it
  // lost is among the others, because a later area shows it.
  Status Store(ZoneId zone, const ZoneAfterPowerLoss& after) {
    const std::uint64_t block = store_.geometry().block_size;
    ZENFS_ASSIGN_OR_RETURN(const std::uint64_t lost, Lose(zone, after.lost));
    Count(after.at_risk, lost + after.moved_back);
    ZENFS_RETURN_IF_ERROR(machine_.Restore(zone, after.state));
    ZENFS_RETURN_IF_ERROR(store_.SaveState(zone, after.state));
    ZENFS_RETURN_IF_ERROR(store_.SaveDurable(zone, after.durable));
    if (after.state.random_area) return {};
    return store_.Zero(zone, after.state.written * block, after.moved_back * block);
  }

  // Makes the lost blocks zeros. Returns how many were not in a hole of the file, where each block is zeros already.
  Result<std::uint64_t> Lose(ZoneId zone, const LostBlocks& lost) {
    const std::uint64_t size = store_.geometry().block_size;
    std::uint64_t count = 0;
    std::uint64_t first = 0;  // of the lost blocks that are not zeros yet
    std::uint64_t end = 0;
    for (std::uint64_t block = lost.first; block < lost.end; ++block) {
      if (!lost.Contains(block)) continue;
      const std::uint64_t hole = store_.KnownZeros(zone, block * size, (lost.end - block) * size) / size;
      if (hole != 0) {
        block += hole - 1;
        continue;
      }
      if (block != end) {
        ZENFS_RETURN_IF_ERROR(store_.Zero(zone, first * size, (end - first) * size));
        first = block;
      }
      end = block + 1;
      ++count;
    }
    ZENFS_RETURN_IF_ERROR(store_.Zero(zone, first * size, (end - first) * size));
    return count;
  }

  void Count(std::uint64_t at_risk, std::uint64_t lost) {
    losses_.zones_at_risk += at_risk == 0 ? 0 : 1;
    losses_.blocks_at_risk += at_risk;
    losses_.zones += lost == 0 ? 0 : 1;
    losses_.blocks += lost;
  }

  FileStore& store_;
  const std::uint32_t zones_;
  ZoneMachine machine_;  // counts the active zones
  Random random_;
  std::optional<PowerLoss> fate_;
  PowerCutLosses losses_;
};

}  // namespace

Result<PowerCutLosses> CutPower(const std::string& path, std::uint64_t seed) {
  ZENFS_ASSIGN_OR_RETURN(const auto store, FileStore::Open(path, OpenMode::kExclusive, /*hostsync=*/false));
  if (!store->has_volatile_cache()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} has no volatile cache, so a power cut loses nothing; make a device with one: "
                            " zenfs emu create PATH --volatile-cache",
                            path));
  }
  return PowerCut(*store, seed).CarryOut();
}

}  // namespace zenfs
