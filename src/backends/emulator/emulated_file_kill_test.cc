// Kills a process at any moment while it writes to an emulated file. The state found must be the
// state after some number of complete commands, including all that were reported complete, and
// every block below a write pointer must hold its data. If the device then loses its power, the
// same holds for flushed blocks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backends/emulator/emulator.h"
#include "backends/emulator/power_loss.h"
#include "base/random.h"
#include "base/unique_fd.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::emulated_file_kill_test {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kZones = 6;
constexpr std::uint64_t kCapacity = 24;  // blocks

EmulatorGeometry Small() {
  return {.zones = kZones,
          .zone_size = 32 * kBlock,
          .zone_capacity = kCapacity * kBlock,
          .max_open = 2,
          .max_active = 0};
}

// The commands for a seed. The child executes them; the parent predicts their results.
struct Plan {
  struct Step {
    enum class Kind { kWrite, kReset, kFinish, kFlush } kind;
    std::uint32_t zone = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t life = 0;
  };
  struct Zone {
    std::uint64_t written = 0;
    std::uint64_t life = 0;
    bool full = false;
    std::uint64_t flushed = 0;
    friend bool operator==(const Zone&, const Zone&) = default;
  };

  explicit Plan(std::uint64_t seed) : random(seed) {}

  Step Next() {
    if (random.OneIn(8)) {
      for (Zone& z : zones) z.flushed = z.written;
      return {Step::Kind::kFlush};
    }
    const auto zone = static_cast<std::uint32_t>(random.Below(kZones));
    Zone& z = zones[zone];
    if (z.full || random.OneIn(12)) {
      z = {0, z.life + 1, false, 0};
      return {Step::Kind::kReset, zone};
    }
    if (random.OneIn(15)) {
      z.full = true;
      return {Step::Kind::kFinish, zone};
    }
    const std::uint64_t count = std::min(1 + random.Below(6), kCapacity - z.written);
    const Step step{Step::Kind::kWrite, zone, z.written, count, z.life};
    z.written += count;
    z.full = z.written == kCapacity;
    return step;
  }

  Random random;
  std::array<Zone, kZones> zones{};
};

AlignedBuffer BlockOf(std::uint32_t zone, std::uint64_t life, std::uint64_t block) {
  return Pattern(kBlock, (life * kZones + zone) * kCapacity + block);
}

bool CarryOut(ZonedDevice& device, const Plan::Step& step) {
  const ZoneId zone(step.zone);
  if (step.kind == Plan::Step::Kind::kFlush) return device.Flush().ok();
  if (step.kind == Plan::Step::Kind::kReset) return device.Reset(zone).ok();
  if (step.kind == Plan::Step::Kind::kFinish) return device.Finish(zone).ok();
  std::vector<AlignedBuffer> blocks;
  std::vector<ByteView> pieces;
  for (std::uint64_t b = 0; b < step.count; ++b)
    blocks.push_back(BlockOf(step.zone, step.life, step.first + b));
  for (const AlignedBuffer& block : blocks) pieces.push_back(block.View());
  return device.Write(device.geometry().ZoneStart(zone) + step.first * kBlock, pieces).ok();
}

// Reports each complete command with one byte, until it is killed.
[[noreturn]] void Work(const std::string& path, std::uint64_t seed, int progress) {
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
  Plan plan(seed);
  while (device && CarryOut(**device, plan.Next()) && ::write(progress, ".", 1) == 1) {
  }
  ::_exit(1);
}

// Lets the child complete `commands` commands, then kills it at any point. Returns the number of
// complete commands.
std::uint64_t RunAndKill(const std::string& path, std::uint64_t seed, std::uint64_t commands) {
  int raw[2];
  EXPECT_EQ(::pipe2(raw, O_CLOEXEC), 0);
  const UniqueFd in(raw[0]);
  const pid_t child = ::fork();
  if (child == 0) Work(path, seed, raw[1]);
  ::close(raw[1]);
  std::uint64_t finished = 0;
  char bytes[64];
  ssize_t n = 1;
  while (finished < commands && (n = ::read(in.get(), bytes, 1)) > 0)
    finished += static_cast<std::uint64_t>(n);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child met an error";
  while ((n = ::read(in.get(), bytes, sizeof bytes)) > 0) finished += static_cast<std::uint64_t>(n);
  return finished;
}

std::array<Plan::Zone, kZones> Found(ZonedDevice& device, const std::array<Plan::Zone, kZones>& expected) {
  std::array<Plan::Zone, kZones> found;
  for (std::uint32_t i = 0; i < kZones; ++i) {
    const ZoneInfo info = ReportOf(device, ZoneId(i));
    found[i].full = info.condition == ZoneCondition::kFull;
    // A full zone reports no write pointer; its data is checked below.
    found[i].written = found[i].full ? expected[i].written : info.WrittenBytes() / kBlock;
    found[i].life = expected[i].life;
    found[i].flushed = expected[i].flushed;
  }
  return found;
}

void ExpectData(ZonedDevice& device, const std::array<Plan::Zone, kZones>& zones) {
  for (std::uint32_t i = 0; i < kZones; ++i) {
    for (std::uint64_t b = 0; b < zones[i].written; ++b) {
      const auto block = ReadBack(device, device.geometry().ZoneStart(ZoneId(i)) + b * kBlock, kBlock);
      ASSERT_TRUE(block);
      ASSERT_TRUE(SameBytes(block->View(), BlockOf(i, zones[i].life, b).View()))
          << "zone " << i << " block " << b;
    }
  }
}

bool IsZero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte(0); });
}

// True if a power loss may have left the zone, which was as in `expected`, in this state.
bool IsLeftOf(ZonedDevice& device, std::uint32_t zone, const Plan::Zone& expected) {
  const ZoneInfo info = ReportOf(device, ZoneId(zone));
  const bool full = info.condition == ZoneCondition::kFull;
  if (full && !expected.full) return false;
  const std::uint64_t written = full ? expected.written : info.WrittenBytes() / kBlock;
  if (written < expected.flushed || written > expected.written) return false;
  for (std::uint64_t b = 0; b < written; ++b) {
    const auto block = ReadBack(device, device.geometry().ZoneStart(ZoneId(zone)) + b * kBlock, kBlock);
    if (!block) return false;
    const bool there = SameBytes(block->View(), BlockOf(zone, expected.life, b).View());
    if (!there && (b < expected.flushed || !IsZero(block->View()))) return false;
  }
  return true;
}

TEST(EmulatedFileKillTest, KilledAnywhereItIsFoundBetweenTwoCommands) {
  TempDirectory directory;
  Random random(7);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string path = directory.File("a.img");
    ASSERT_TRUE(CreateEmulatedFile(path, Small(), true).ok());
    const std::uint64_t finished = RunAndKill(path, seed, 1 + random.Below(60));
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    ASSERT_TRUE(device) << device.error().ToString();
    Plan plan(seed);
    for (std::uint64_t i = 0; i < finished; ++i) plan.Next();
    // One command may have been executed without being reported.
    if (Found(**device, plan.zones) != plan.zones) plan.Next();
    ASSERT_EQ(Found(**device, plan.zones), plan.zones) << "seed " << seed << ", " << finished << " commands";
    ASSERT_NO_FATAL_FAILURE(ExpectData(**device, plan.zones)) << "seed " << seed;
  }
}

TEST(EmulatedFileKillTest, KilledAnywhereAndWithItsPowerCutItHoldsWhatWasFlushed) {
  TempDirectory directory;
  Random random(8);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string path = directory.File("a.img");
    ASSERT_TRUE(CreateEmulatedFile(path, Small(), true, Timing::kNone, /*volatile_cache=*/true).ok());
    const std::uint64_t finished = RunAndKill(path, seed, 1 + random.Below(60));
    const auto cut = CutPower(path, seed);
    ASSERT_TRUE(cut) << cut.error().ToString();
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    ASSERT_TRUE(device) << device.error().ToString();
    Plan told(seed);
    for (std::uint64_t i = 0; i < finished; ++i) told.Next();
    Plan one_more = told;
    one_more.Next();
    for (std::uint32_t i = 0; i < kZones; ++i) {
      ASSERT_TRUE(IsLeftOf(**device, i, told.zones[i]) || IsLeftOf(**device, i, one_more.zones[i]))
          << "seed " << seed << ", " << finished << " commands, zone " << i;
    }
  }
}

}  // namespace
}  // namespace zenfs::emulated_file_kill_test
