// The key that proves that two devices are those of the last mount.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "volume/fsck/scrub.h"
#include "volume/pair_proof.h"
#include "volume/pair_test_rig.h"

namespace zenfs::volume_pair_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Empty if all that opens a volume refuses the pair with such a text, and nothing is written.
std::string WhyNotRefused(const DevicePair& pair, const testing::Matcher<std::string>& text) {
  const std::uint64_t before = pair.main->commands() + pair.logs->commands();
  const auto refused = [&](const char* what, const auto& result) -> std::string {
    if (result.ok()) return fmt::format("{}: not refused", what);
    if (result.error().code() != Code::kInvalidArgument || !testing::Value(result.error().text(), text))
      return fmt::format("{}: {}", what, result.error().ToString());
    return "";
  };
  std::string why = refused("mount", pair.Mount());
  if (why.empty()) why = refused("reader", pair.MountReader());
  if (why.empty()) why = refused("check", CheckVolume(*pair.Joined(), {}));
  if (why.empty()) why = refused("scrub", ScrubVolume(*pair.Joined(), {}));
  if (why.empty() && pair.main->commands() + pair.logs->commands() != before) why = "something was written";
  return why;
}

const auto kLogsOlder = AllOf(HasSubstr("not the log device of the last mount"), HasSubstr("?waldev"));
const auto kMainOlder = AllOf(HasSubstr("not the main device of the last mount"), HasSubstr("attach"));
const auto kApart = AllOf(HasSubstr("different copies"), HasSubstr("?waldev"));

TEST(VolumePair, ALogDeviceOfAnEarlierMountIsRefusedAfterAKill) {
  DevicePair pair;
  pair.Session("1.log");
  const OneOfPair older = DevicePair::CopyOf(*pair.logs);
  pair.Killed("2.log");
  EXPECT_EQ(WhyNotRefused({pair.main, older}, kLogsOlder), "");
  pair.Session("3.log");
  const auto volume = pair.MountReader();
  ASSERT_TRUE(IsOk(volume));
  EXPECT_EQ(*GetFile(**volume, "2.log"), "2.log") << "nothing was lost";
}

TEST(VolumePair, ADeviceOfAnEarlierMountIsRefusedAfterAnUnmount) {
  const DevicePair pair;
  std::vector<DevicePair> copies{pair.Copy()};
  for (int i = 1; i <= 3; ++i) {
    pair.Session(fmt::format("{}.log", i));
    for (std::size_t k = 0; k < copies.size(); ++k) {
      EXPECT_EQ(WhyNotRefused({pair.main, copies[k].logs}, kLogsOlder), "") << i << ", " << k;
      EXPECT_EQ(WhyNotRefused({copies[k].main, pair.logs}, kMainOlder), "") << i << ", " << k;
    }
    copies.push_back(pair.Copy());
  }
}

TEST(VolumePair, CopiesOfBothAreAVolumeAndDoNotMixWithTheOriginals) {
  const DevicePair pair;
  pair.Session("1.log");
  const DevicePair copy = pair.Copy();
  copy.Session("2.log");
  EXPECT_EQ(WhyNotRefused({copy.main, pair.logs}, kLogsOlder), "");
  EXPECT_EQ(WhyNotRefused({pair.main, copy.logs}, kMainOlder), "");
  pair.Session("3.log");
  EXPECT_EQ(WhyNotRefused({copy.main, pair.logs}, kApart), "");
  EXPECT_EQ(WhyNotRefused({pair.main, copy.logs}, kApart), "");
  for (const DevicePair* one : {&pair, &copy}) {
    const auto volume = one->MountReader();
    ASSERT_TRUE(IsOk(volume));
    EXPECT_EQ(*GetFile(**volume, "1.log"), "1.log");
    EXPECT_EQ(GetFile(**volume, "2.log").ok(), one == &copy);
    EXPECT_EQ(GetFile(**volume, "3.log").ok(), one == &pair);
  }
}

// Each fills a zone of records more than once.
TEST(VolumePair, ManyMountsKeepTheProof) {
  const DevicePair pair;
  OneOfPair older = DevicePair::CopyOf(*pair.logs);
  for (std::uint64_t i = 0; i < 2 * kPairRecordsPerZone; ++i) {
    pair.Session("1.log");
    ASSERT_EQ(WhyNotRefused({pair.main, older}, kLogsOlder), "") << i;
    older = DevicePair::CopyOf(*pair.logs);
  }
}

TEST(VolumePair, OneZoneWithTheKeyMayBeLost) {
  for (const ZoneCondition condition : {ZoneCondition::kOffline, ZoneCondition::kReadOnly}) {
    for (std::uint32_t zone = 0; zone < 2; ++zone) {
      const DevicePair pair;
      pair.Session("1.log");
      const OneOfPair older = DevicePair::CopyOf(*pair.logs);
      pair.Session("2.log");
      ASSERT_TRUE(IsOk(pair.logs->SetCondition(ZoneId(zone), condition)));
      EXPECT_EQ(WhyNotRefused({pair.main, older}, kLogsOlder), "");
      for (std::uint64_t i = 0; i < kPairRecordsPerZone; ++i) pair.Session("3.log");
      EXPECT_EQ(WhyNotRefused({pair.main, older}, kLogsOlder), "");
    }
  }
}

// Its metadata zones are numbered as on the main device: the third has logs here.
TEST(VolumePair, ACopyOfTheMainDevicesSuperblockOnTheLogDeviceCostsNoLogs) {
  const DevicePair pair;
  pair.Session("1.log");
  Superblock of_main = *FindSuperblock(*pair.main);
  of_main.metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(2), ZoneId(3)};
  AlignedBuffer block(4096);
  block.Append(AsBytes(EncodeSuperblock(of_main)));
  ASSERT_TRUE(IsOk(pair.logs->Reset(ZoneId(0))));
  ASSERT_TRUE(IsOk(pair.logs->Write(DeviceOffset(0), block.View())));
  pair.Session("2.log");
  for (std::uint64_t i = 0; i < kPairRecordsPerZone; ++i) pair.Session("3.log");
  const auto volume = pair.MountReader();
  ASSERT_TRUE(IsOk(volume));
  for (const std::string log : {"1.log", "2.log"}) {
    const auto text = GetFile(**volume, log);
    ASSERT_TRUE(IsOk(text));
    EXPECT_EQ(*text, log);
  }
  EXPECT_TRUE(FindSuperblock(*pair.logs)->is_log_device()) << "a full zone is begun again";
}

// As versions before 2026-11-28 left it: no key, and the zones of the superblock finished.
DevicePair WithoutAKey() {
  DevicePair pair;
  const Superblock of_main = *FindSuperblock(*pair.main);
  const Superblock of_logs = *FindSuperblock(*pair.logs);
  AlignedBuffer block(4096);
  block.Append(AsBytes(EncodeSuperblock(of_logs)));
  for (const ZoneId zone : of_logs.metadata_zones) {
    EXPECT_TRUE(IsOk(pair.logs->Reset(zone)));
    EXPECT_TRUE(IsOk(pair.logs->Write(pair.logs->geometry().ZoneStart(zone), block.View())));
    EXPECT_TRUE(IsOk(pair.logs->Finish(zone)));
  }
  EXPECT_TRUE(IsOk(Metalog::Format(*pair.main, of_main, {})));
  return pair;
}

TEST(VolumePair, APairWithoutAKeyGetsOneAtItsFirstMount) {
  const DevicePair pair = WithoutAKey();
  ASSERT_TRUE(IsOk(pair.MountReader()));
  ASSERT_TRUE(IsOk(CheckVolume(*pair.Joined(), {})));
  const DevicePair older = pair.Copy();
  pair.Session("1.log");
  EXPECT_EQ(WhyNotRefused({pair.main, older.logs}, kLogsOlder), "");
  EXPECT_EQ(WhyNotRefused({older.main, pair.logs}, kMainOlder), "");
  pair.Session("2.log");
  ASSERT_TRUE(IsOk(pair.MountReader()));
}

// An earlier version may have left as many zones active as the device allows.
TEST(VolumePair, AKeyIsWrittenThoughAllSlotsAreTaken) {
  const DevicePair pair = WithoutAKey();
  for (std::uint32_t zone = 2; zone < 2 + DevicePair::kLogs.max_active; ++zone)
    ASSERT_TRUE(IsOk(pair.logs->Open(ZoneId(zone))));
  pair.Session("1.log");
  EXPECT_EQ(WhyNotRefused({pair.main, WithoutAKey().logs}, HasSubstr("")), "");
}

// The commit of a key comes before its settled record, and a reader reads the record first.
TEST(VolumePair, AReaderBesideAMountThatRenewsTheKeyLooksAgain) {
  const DevicePair pair;
  pair.Session("1.log");
  int looked = 0;
  EXPECT_TRUE(IsOk(CheckPairLive(*pair.Joined(), [&]() -> Result<PairClaim> {
    ++looked;
    if (looked == 1) pair.Session("2.log");
    const auto log = Metalog::Open(*MakeReadOnlyView(*pair.main), *FindSuperblock(*pair.main));
    return PairClaim::Of((*log)->recovered());
  })));
  EXPECT_EQ(looked, 2);
}

TEST(VolumePair, AnUnwritableLogDeviceIsNotMounted) {
  const DevicePair pair;
  pair.Session("1.log");
  for (std::uint32_t zone = 0; zone < 2; ++zone)
    ASSERT_TRUE(IsOk(pair.logs->SetCondition(ZoneId(zone), ZoneCondition::kReadOnly)));
  const auto volume = pair.Mount();
  ASSERT_FALSE(volume.ok());
  EXPECT_THAT(volume.error().text(), HasSubstr("zone 1 is read-only"));
  EXPECT_TRUE(IsOk(pair.MountReader()));
}

TEST(PairVerdictTest, AnOfferCountsWithItsKeyAndThePreviousOne) {
  const Uuid a = Uuid::Generate();
  const Uuid b = Uuid::Generate();
  const Uuid c = Uuid::Generate();
  const PairRecord offered{.epoch = 4, .offered = true, .key = b, .previous = a};
  EXPECT_EQ(JudgePair({a, 3}, offered), PairVerdict::kTogether);
  EXPECT_EQ(JudgePair({b, 4}, offered), PairVerdict::kTogether);
  EXPECT_EQ(JudgePair({c, 3}, offered), PairVerdict::kApart);
  EXPECT_EQ(JudgePair({c, 2}, offered), PairVerdict::kMainOlder);
  EXPECT_EQ(JudgePair({c, 4}, offered), PairVerdict::kLogsOlder);
}

// The next mount's record would not be the newest one.
TEST(PairVerdictTest, ARecordOfALaterMountThanTheMainDeviceKnowsDoesNotCount) {
  const Uuid a = Uuid::Generate();
  const Uuid b = Uuid::Generate();
  const PairRecord settled{.epoch = 900, .key = b, .previous = a};
  EXPECT_EQ(JudgePair({b, 900}, settled), PairVerdict::kTogether);
  EXPECT_EQ(JudgePair({b, 899}, settled), PairVerdict::kMainOlder);
  const PairRecord offered{.epoch = 900, .offered = true, .key = b, .previous = a};
  EXPECT_EQ(JudgePair({a, 899}, offered), PairVerdict::kTogether);
  EXPECT_EQ(JudgePair({a, 898}, offered), PairVerdict::kMainOlder);
}

TEST(PairVerdictTest, ASettledRecordCountsWithItsKeyOnly) {
  const Uuid a = Uuid::Generate();
  const Uuid b = Uuid::Generate();
  const PairRecord settled{.epoch = 4, .key = b, .previous = a};
  EXPECT_EQ(JudgePair({b, 4}, settled), PairVerdict::kTogether);
  EXPECT_EQ(JudgePair({a, 3}, settled), PairVerdict::kMainOlder);
  EXPECT_EQ(JudgePair({{}, 3}, settled), PairVerdict::kMainOlder);
  EXPECT_EQ(JudgePair({a, 5}, settled), PairVerdict::kLogsOlder);
  EXPECT_EQ(JudgePair({a, 5}, std::nullopt), PairVerdict::kLogsOlder);
  EXPECT_EQ(JudgePair({{}, 5}, std::nullopt), PairVerdict::kTogether);
}

}  // namespace
}  // namespace zenfs::volume_pair_test
