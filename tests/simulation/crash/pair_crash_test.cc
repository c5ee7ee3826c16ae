// Cuts the power during a mount of two devices, while it renews the key that proves them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "verify.h"
#include "volume/pair_test_rig.h"

namespace zenfs::pair_crash_test {
namespace {

// A mount of copies of two devices, cut off after so many commands of the one; the other one stops at the same moment.
class CutMount {
 public:
  enum class Counted { kMain, kLogs };

  CutMount(const DevicePair& before, Counted counted, std::uint64_t commands) : pair_(before.Copy()) {
    CrashDevice& first = counted == Counted::kMain ? *pair_.main : *pair_.logs;
    CrashDevice& second = counted == Counted::kMain ? *pair_.logs : *pair_.main;
    first.StopAfter(commands);
    first.OnStop([&second] { second.StopAfter(0); });
    const auto volume = pair_.Mount();
    mounted_ = volume.ok();
    stopped_ = first.stopped();
    pair_.main->StopAfter(0);
    pair_.logs->StopAfter(0);
    if (mounted_) IgnoreError((*volume)->Unmount());
  }

  bool mounted() const { return mounted_; }  // the mount returned before the power was lost
  bool stopped() const { return stopped_; }
  DevicePair Image(LossPolicy main, LossPolicy logs) const {
    return {pair_.main->Image(main), pair_.logs->Image(logs)};
  }

 private:
  DevicePair pair_;
  bool mounted_ = false;
  bool stopped_ = false;
};

bool Refuses(const DevicePair& pair) {
  const auto reader = pair.MountReader();
  return !reader.ok() && reader.error().code() == Code::kInvalidArgument;
}

struct Moment {
  DevicePair older;   // one mount before
  DevicePair before;  // what is mounted

  // Empty if the image after a cut mount of `before` is as it must be. Changes the image.
  std::string WhyNot(const DevicePair& image, bool mounted) const {
    if (!Refuses({image.main, older.logs})) return "the log device of an earlier mount is taken";
    if (!Refuses({older.main, image.logs})) return "the main device of an earlier mount is taken";
    if (mounted && !Refuses({image.main, before.logs})) return "the log device of before the mount is taken";
    if (mounted && !Refuses({before.main, image.logs})) return "the main device of before the mount is taken";
    const auto reader = image.MountReader();
    if (!reader) return "read-only mount: " + reader.error().ToString();
    const auto volume = image.Mount();
    if (!volume) return "mount: " + volume.error().ToString();
    for (const char* log : {"1.log", "2.log"}) {
      const auto content = GetFile(**volume, log);
      if (!content || *content != log) return fmt::format("{} is lost", log);
    }
    if (const Status end = (*volume)->Unmount(); !end.ok()) return "unmount: " + end.error().ToString();
    if (!Refuses({image.main, before.logs})) return "the log device of before is taken after a mount";
    if (!Refuses({before.main, image.logs})) return "the main device of before is taken after a mount";
    return FirstCheckError(*image.Joined());
  }
};

// What a power loss may leave of each device.
std::vector<std::pair<LossPolicy, LossPolicy>> LossesOfBoth(std::uint64_t seed, int random) {
  const LossPolicy all = LossPolicy::LoseAll();
  const LossPolicy none = LossPolicy::KeepAll();
  std::vector<std::pair<LossPolicy, LossPolicy>> losses{{all, all}, {all, none}, {none, all}, {none, none}};
  for (int i = 0; i < random; ++i)
    losses.emplace_back(LossPolicy::Random(seed * 100 + i), LossPolicy::Random(seed * 100 + 50 + i));
  return losses;
}

// Calls `check` with each cut of a mount of `before`, until the mount is complete; with every `step`-th one from `first` on.
void ForEachCut(const DevicePair& before, std::uint64_t first, std::uint64_t step,
                const std::function<void(const CutMount&, std::uint64_t)>& check) {
  for (const auto counted : {CutMount::Counted::kMain, CutMount::Counted::kLogs}) {
    for (std::uint64_t cut = first;; cut += step) {
      const CutMount mount(before, counted, cut);
      check(mount, cut);
      if (testing::Test::HasFatalFailure() || !mount.stopped()) break;
    }
  }
}

void VerifyCuts(DevicePair& pair, bool twice) {
  const DevicePair older = pair.Copy();
  pair.Killed("2.log");
  const Moment moment{.older = older, .before = pair.Copy()};
  std::uint64_t images = 0;
  ForEachCut(moment.before, 0, 1, [&](const CutMount& mount, std::uint64_t cut) {
    for (const auto& [main, logs] : LossesOfBoth(cut, twice ? 0 : 12)) {
      const DevicePair image = mount.Image(main, logs);
      if (twice) {
        const std::uint64_t step = FullRun() ? 1 : 5;
        ForEachCut(image, cut % step, step, [&](const CutMount& second, std::uint64_t again) {
          for (const auto& [second_main, second_logs] : LossesOfBoth(again, 1)) {
            ++images;
            ASSERT_EQ(moment.WhyNot(second.Image(second_main, second_logs), false), "")
                << "after commands " << cut << " and " << again << ", " << Describe(main) << " and "
                << Describe(logs);
          }
        });
        if (testing::Test::HasFatalFailure()) return;
      }
      ++images;
      ASSERT_EQ(moment.WhyNot(image, mount.mounted()), "")
          << "after command " << cut << ", " << Describe(main) << " and " << Describe(logs);
    }
  });
  std::cout << images << " images\n";
}

TEST(PairCrash, AMountThatIsCutOffLeavesAPairThatMountsAndRefusesOlderDevices) {
  DevicePair pair;
  pair.Session("1.log");
  VerifyCuts(pair, false);
}

// The zones of the key are full, so the mount begins them again, one after the other.
TEST(PairCrash, AMountThatBeginsItsZonesOfTheKeyAgainDoesSoToo) {
  DevicePair pair;
  pair.Session("1.log");
  const std::uint64_t room = std::min(kPairRecordsPerZone, std::uint64_t{(128 << 10) / 4096 - 1});
  for (std::uint64_t records = 3; records + 4 <= room; records += 2) pair.Session("1.log");
  VerifyCuts(pair, false);
  VerifyCuts(pair, false);
}

TEST(PairCrash, ARecoveryThatIsCutOffTwiceDoesSoToo) {
  DevicePair pair;
  pair.Session("1.log");
  VerifyCuts(pair, true);
}

}  // namespace
}  // namespace zenfs::pair_crash_test
