// More writers than zones, few slots, mixed lifetimes: nothing hangs and no space is wasted.
#include <algorithm>
#include <atomic>

#include "base/random.h"
#include "base/thread.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

// R6 of docs/internals/failures.md.
TEST(ZoneSharingTest, OneThreadWritesSixtyFourFilesInTurnsWithoutHanging) {
  ZoneTestRig rig(TestGeometry(64, 64, 14));
  rig.Mount(2, 2);
  std::vector<SinkCursor> files(64);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      ASSERT_TRUE(rig.WriteLive(files[i], Lifetime(i % kLifetimeCount), 1));
      ASSERT_LE(rig.ActiveOnDevice(), 10U);
    }
  }
  rig.ExpectSound();
}

void WriteFromThreads(ZoneTestRig& rig, int threads, int files_a_thread, int rounds) {
  std::atomic<int> failed{0};
  {
    std::vector<Thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back("writer", [&, t] {
        Random random(static_cast<std::uint64_t>(t) + 1);
        std::vector<SinkCursor> files(static_cast<std::size_t>(files_a_thread));
        std::vector<std::vector<Extent>> live(files.size());
        for (int i = 0; i < rounds; ++i) {
          const std::size_t f = random.Below(files.size());
          auto written = rig.WriteLive(files[f], Lifetime(f % kLifetimeCount), 1 + random.Below(4));
          if (!written) {
            ++failed;
            continue;
          }
          std::ranges::copy(*written, std::back_inserter(live[f]));
          if (live[f].size() > 4) {
            rig.zones->RemoveLive(live[f]);
            live[f].clear();
            if (random.OneIn(2)) files[f] = {};
          }
        }
        for (auto& extents : live) rig.zones->RemoveLive(extents);
      });
    }
  }
  EXPECT_EQ(failed, 0);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  rig.ExpectSound();
  EXPECT_EQ(rig.zones->Space().live, 0U);
  EXPECT_EQ(rig.zones->Space().garbage, 0U);
}

TEST(ZoneSharingTest, EightThreadsWriteSixtyFourFilesWithoutHanging) {
  ZoneTestRig rig(TestGeometry(64, 64, 14));
  rig.Mount(2, 2);
  WriteFromThreads(rig, 8, 8, 200);
}

class FewSlotsTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(FewSlotsTest, ManyWritersShareFewSlots) {
  ZoneTestRig rig(TestGeometry(48, 16, GetParam()));
  rig.Mount(2, 2);
  WriteFromThreads(rig, 8, 4, 100);
}

INSTANTIATE_TEST_SUITE_P(Limits, FewSlotsTest, testing::Values(4U, 5U, 6U, 0U));

// S1 of docs/internals/failures.md.
TEST(ZoneSharingTest, MixedLifetimesFillEveryBlockBeforeNoSpace) {
  ZoneTestRig rig(TestGeometry(20, 32, 14));
  rig.Mount(2, 2);
  const std::uint64_t promised = rig.zones->Space().free / kTestBlock;
  EXPECT_EQ(promised, 16U * 32);
  std::vector<SinkCursor> files(12);
  std::uint64_t written = 0;
  for (;; ++written) {
    const std::size_t i = written % files.size();
    if (auto extents = rig.WriteLive(files[i], Lifetime(i % kLifetimeCount), 1); !extents) {
      EXPECT_EQ(extents.error().code(), Code::kNoSpace);
      break;
    }
  }
  EXPECT_EQ(written, promised);
}

// S3 of docs/internals/failures.md.
TEST(ZoneSharingTest, OverwritesAfterAFillAndRemountsNeverRunOutOfFreeSpace) {
  ZoneTestRig rig(TestGeometry(24, 32, 14));
  std::vector<ZoneTestRig::File> files(40);
  Random random(7);
  rig.Mount(2, 2);
  for (int i = 0; i < 600; ++i) {
    if (i % 150 == 149) {
      rig.Create(2, 2);
      rig.Adopt(files);
      ASSERT_TRUE(rig.zones->Start().ok());
    }
    ZoneTestRig::File& file = files[random.Below(files.size())];
    rig.zones->RemoveLive(file.extents);
    file.extents.clear();
    file.lifetime = Lifetime(random.Below(kLifetimeCount));
    SinkCursor cursor;
    const std::uint64_t blocks = 1 + random.Below(14);
    const std::uint64_t free = rig.zones->Space().free;
    auto extents = rig.WriteLive(cursor, file.lifetime, blocks);
    if (extents) {
      file.extents = std::move(*extents);
    } else {
      ASSERT_EQ(extents.error().code(), Code::kNoSpace);
      ASSERT_LT(free, blocks * kTestBlock) << "kNoSpace although enough space was free";
    }
  }
  rig.ExpectSound();
}

}  // namespace
}  // namespace zenfs
