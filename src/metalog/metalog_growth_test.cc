// The metadata log takes more zones when its snapshot grows, and gives them back. Power may be lost at any command.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "metalog/metalog_test_util.h"
#include "metalog/replay.h"
#include "testing/crash_device.h"

namespace zenfs::metalog_growth_test {
namespace {

constexpr std::uint64_t kZoneBytes = 64 << 10;
constexpr std::uint64_t kFirstData = 1000;  // file ids of data

struct Shape {
  std::uint32_t copies;
  std::uint32_t own_zones;  // of the superblock
  std::uint32_t zones;
  std::uint32_t max_active = 0;
};

EmulatorGeometry GeometryOf(const Shape& shape) {
  EmulatorGeometry geometry = SmallGeometry(kZoneBytes, shape.zones);
  geometry.max_active = geometry.max_open = shape.max_active;
  return geometry;
}

Superblock SuperblockOf(const ZonedDevice& device, const Shape& shape) {
  Superblock superblock = SuperblockFor(device.geometry(), shape.own_zones);
  superblock.incompatible |= kMoreMetadataZones;
  if (shape.copies == 2) superblock.incompatible |= kTwoMetadataCopies;
  return superblock;
}

// About `extents` * 20 bytes of metadata.
std::vector<Edit> CreateLarge(std::uint64_t id, std::uint64_t extents) {
  std::vector<Edit> edits = CreateNamed(id);
  SetExtents large{.id = FileId(id)};
  for (std::uint64_t e = 0; e < extents; ++e) {
    large.extents.push_back({.file_offset = e * 4096,
                             .place = DeviceOffset((1ull << 40) + (id * extents + e) * 8192),
                             .length = 4096});
    large.size += 4096;
  }
  edits.emplace_back(std::move(large));
  return edits;
}

// Stands for a volume: has the zones that the log has not, writes data to them, and commits.
class SmallVolume {
 public:
  SmallVolume(ZonedDevice& device, const Shape& shape) : device_(device) {
    auto log = Metalog::Open(device, SuperblockOf(device, shape));
    if (!log) return;
    log_ = std::move(*log);
    states_.push_back(log_->recovered());
    const std::vector<ZoneId> taken = log_->zones();
    for (std::uint32_t i = 0; i < shape.zones; ++i) {
      if (std::ranges::find(taken, ZoneId(i)) == taken.end()) free_.emplace_back(i);
    }
  }

  bool opened() const { return log_ != nullptr; }
  Metalog& log() { return *log_; }
  // After each acknowledged commit, the first one before all.
  const std::vector<State>& states() const { return states_; }
  std::size_t free_zones() const { return free_.size(); }

  bool Commit(std::vector<Edit> edits, CommitOptions options = {}) {
    Balance();
    if (!log_->Commit(edits, options).ok()) return false;
    State next = states_.back();
    EXPECT_TRUE(next.Apply(edits).ok());
    states_.push_back(std::move(next));
    return true;
  }
  // Writes a block to each free zone, and commits a file that has it.
  bool UseFreeZones(std::uint64_t& id) {
    for (const ZoneId zone : std::exchange(free_, {})) {
      const Result<ZoneInfo> info = device_.ReportZone(zone);
      if (!info || (info->condition != ZoneCondition::kEmpty && !device_.Reset(zone).ok())) return false;
      const FlushMark mark = FlushMark::Now(device_);
      if (!device_.Write(info->start, Pattern(zone).View()).ok() || !device_.Finish(zone).ok()) return false;
      std::vector<Edit> edits = CreateNamed(id);
      SetExtents one{.id = FileId(id)};
      one.size = 4096;
      one.extents.push_back({.file_offset = 0, .place = info->start, .length = 4096});
      edits.emplace_back(std::move(one));
      ++id;
      if (!Commit(std::move(edits), {.data_since = mark})) return false;
    }
    return true;
  }
  void Balance() {
    for (const ZoneId zone : log_->TakeFreedZones()) free_.push_back(zone);
    const std::uint32_t wanted = log_->ClaimWantedZones();
    if (wanted == 0) return;
    std::vector<ZoneInfo> zones;
    for (std::uint32_t i = 0; i < wanted && wanted <= free_.size(); ++i) {
      const Result<ZoneInfo> info = device_.ReportZone(free_[i]);
      if (info) zones.push_back(*info);
    }
    if (zones.size() < wanted) zones.clear();
    free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(zones.size()));
    log_->AddZones(zones);
  }

  static AlignedBuffer Pattern(ZoneId zone) {
    AlignedBuffer block(4096);
    block.Resize(4096);
    std::ranges::fill(block.Span(), static_cast<std::byte>(0x40 + zone.value));
    return block;
  }

 private:
  ZonedDevice& device_;
  std::unique_ptr<Metalog> log_;
  std::vector<State> states_;
  std::deque<ZoneId> free_;
};

constexpr std::uint64_t kLargeFiles = 8;
constexpr std::uint64_t kExtents = 260;  // so one place does not hold all of these files

// The metadata grows over several places, shrinks, and the zones that come back take data. Until an error.
void GrowAndShrink(SmallVolume& volume) {
  for (std::uint64_t i = 0; i < kLargeFiles; ++i) {
    if (!volume.Commit(CreateLarge(kFirstTestId + i, kExtents))) return;
  }
  if (!volume.log().Switch().ok()) return;
  for (std::uint64_t i = 0; i < kLargeFiles; ++i) {
    if (!volume.Commit(UnlinkNamed(kFirstTestId + i))) return;
  }
  std::uint64_t id = kFirstData;
  for (int round = 0; round < 6; ++round) {
    if (!volume.log().Switch().ok()) return;
    volume.Balance();
    if (!volume.UseFreeZones(id)) return;
  }
}

class MetalogGrowthTest : public ::testing::TestWithParam<Shape> {};

TEST_P(MetalogGrowthTest, TheSnapshotOutgrowsTheZonesOfTheSuperblock) {
  CrashDevice device(GeometryOf(GetParam()));
  const Superblock superblock = SuperblockOf(device, GetParam());
  ZENFS_ASSERT_OK(Metalog::Format(device, superblock, InitialEdits()));
  State expected;
  {
    SmallVolume volume(device, GetParam());
    ASSERT_TRUE(volume.opened());
    for (std::uint64_t i = 0; i < kLargeFiles; ++i)
      ASSERT_TRUE(volume.Commit(CreateLarge(kFirstTestId + i, kExtents))) << i;
    ZENFS_ASSERT_OK(volume.log().Switch());
    expected = volume.states().back();
  }
  const auto again = Metalog::Open(device, superblock);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_TRUE((*again)->recovered() == expected);
  EXPECT_GT((*again)->zones().size(), superblock.metadata_zones.size());
  EXPECT_EQ(MetadataZones(device, superblock), (*again)->zones());
}

TEST_P(MetalogGrowthTest, AllAddedZonesComeBackOnceTheFilesAreGone) {
  CrashDevice device(GeometryOf(GetParam()));
  const Superblock superblock = SuperblockOf(device, GetParam());
  ZENFS_ASSERT_OK(Metalog::Format(device, superblock, InitialEdits()));
  {
    SmallVolume volume(device, GetParam());
    const std::size_t free_zones = volume.free_zones();
    GrowAndShrink(volume);
    EXPECT_EQ(volume.log().zones(), superblock.metadata_zones);
    EXPECT_EQ(volume.states().back().files().size(), free_zones);
  }
  EXPECT_EQ(MetadataZones(device, superblock), superblock.metadata_zones);
}

// The files whose data is on the device are whole, and their zones are not the log's.
void ExpectDataApart(ZonedDevice& device, const State& state, std::span<const ZoneId> log_zones) {
  AlignedBuffer block(4096);
  block.Resize(4096);
  for (const auto& [id, file] : state.files()) {
    if (id.value < kFirstData) continue;
    const DeviceOffset place = file->extents.front().place;
    const ZoneId zone = device.geometry().ZoneOf(place);
    EXPECT_EQ(std::ranges::find(log_zones, zone), log_zones.end()) << "zone " << zone.value;
    ZENFS_ASSERT_OK(device.Read(place, block.Span()));
    EXPECT_TRUE(std::ranges::equal(block.View(), SmallVolume::Pattern(zone).View())) << "zone " << zone.value;
  }
}

TEST_P(MetalogGrowthTest, PowerLossAtAnyCommandOfAGrowingAndShrinkingLogLosesNothing) {
#if defined(ZENFS_SANITIZED)  // sanitizers make each mount slow
  constexpr std::uint64_t kStep = 7;
#else
  constexpr std::uint64_t kStep = 1;
#endif
  CrashDevice formatted(GeometryOf(GetParam()));
  const Superblock superblock = SuperblockOf(formatted, GetParam());
  ZENFS_ASSERT_OK(Metalog::Format(formatted, superblock, InitialEdits()));
  std::vector<State> states;
  std::size_t grown = 0;
  {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    SmallVolume volume(*device, GetParam());
    GrowAndShrink(volume);
    states = volume.states();
  }
  bool finished = false;
  for (std::uint64_t last = 0; !finished; last += kStep) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    std::size_t acknowledged = 0;
    {
      SmallVolume volume(*device, GetParam());
      if (volume.opened()) GrowAndShrink(volume);
      acknowledged = volume.opened() ? volume.states().size() - 1 : 0;
    }
    finished = !device->stopped();
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(fmt::format("after command {}, seed {}", last, seed));
      const auto found = device->Image(seed == 0   ? LossPolicy::KeepAll()
                                       : seed == 1 ? LossPolicy::LoseAll()
                                                   : LossPolicy::Random(last * 100 + seed));
      {
        SmallVolume volume(*found, GetParam());
        ASSERT_TRUE(volume.opened());
        const std::size_t commits = volume.log().stats().sequence;
        ASSERT_GE(commits, acknowledged);
        ASSERT_LT(commits, states.size());
        ASSERT_TRUE(volume.states().front() == states[commits]);
        if (HasFile(states[commits], kFirstTestId)) {  // a mount's own commits find as much room as this one
          ASSERT_TRUE(volume.Commit({RenameEntry{kRootDirectory, "file-100", kRootDirectory, "renamed"}}));
        }
        grown += volume.log().zones().size() > superblock.metadata_zones.size() ? 1 : 0;
        ExpectDataApart(*found, states[commits], volume.log().zones());
        // It goes on, gives back what it has, and data may have the rest.
        for (int round = 0; round < 3; ++round) {
          ZENFS_ASSERT_OK(volume.log().Switch());
          volume.Balance();
        }
        ASSERT_TRUE(volume.Commit({BeginEpoch{1}}));
        ExpectDataApart(*found, volume.states().back(), volume.log().zones());
        if (HasFatalFailure()) return;
      }
      const auto again = Metalog::Open(*found, superblock);
      ASSERT_TRUE(again) << again.error().ToString();
      EXPECT_EQ((*again)->recovered().epoch(), 1u);
      ExpectDataApart(*found, (*again)->recovered(), (*again)->zones());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(grown, 100u / kStep);
}

// The first commits of the snapshot are in zones of the superblock, the rest in an added one. Without it the generation must
// not look as if its log switch had never happened.
TEST_P(MetalogGrowthTest, NoLossOfAnAddedZoneUncoversAnOlderState) {
  CrashDevice device(GeometryOf(GetParam()));
  const Superblock superblock = SuperblockOf(device, GetParam());
  ZENFS_ASSERT_OK(Metalog::Format(device, superblock, InitialEdits()));
  State expected;
  std::vector<ZoneId> zones;
  {
    SmallVolume volume(device, GetParam());
    for (std::uint64_t i = 0; i < kLargeFiles; ++i)
      ASSERT_TRUE(volume.Commit(CreateLarge(kFirstTestId + i, kExtents)));
    ZENFS_ASSERT_OK(volume.log().Switch());
    ASSERT_TRUE(volume.Commit(CreateNamed(kFirstData - 1)));
    expected = volume.states().back();
    zones = volume.log().zones();
  }
  ZENFS_ASSERT_OK(device.Flush());
  for (const ZoneId zone : zones) {
    SCOPED_TRACE(fmt::format("zone {}", zone.value));
    const auto damaged = device.Image(LossPolicy::KeepAll());
    ZENFS_ASSERT_OK(damaged->SetCondition(zone, ZoneCondition::kOffline));
    const Result<Replayed> replayed = Replay(*damaged, superblock);
    const bool right = replayed && (replayed->state == expected || replayed->doubt.has_value());
    EXPECT_TRUE(right || !replayed);
    if (GetParam().copies == 2) {
      EXPECT_TRUE(replayed && replayed->state == expected && !replayed->doubt);
    }
  }
}

TEST(MetalogGrowth, AVolumeWithoutTheFeatureKeepsItsZones) {
  const Shape shape{.copies = 1, .own_zones = 3, .zones = 12};
  CrashDevice device(GeometryOf(shape));
  ZENFS_ASSERT_OK(Formatted(device, shape.own_zones));
  const auto log = MustOpen(device, shape.own_zones);
  Status last;
  for (std::uint64_t i = 0; last.ok() && i < kLargeFiles; ++i) {
    EXPECT_EQ(log->ClaimWantedZones(), 0u);
    last = log->Commit(CreateLarge(kFirstTestId + i, kExtents));
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), Code::kNoSpace);
  EXPECT_THAT(last.error().text(), ::testing::HasSubstr("--metadata-zones with more than 3 zones"));
}

INSTANTIATE_TEST_SUITE_P(Shapes, MetalogGrowthTest,
                         ::testing::Values(Shape{.copies = 1, .own_zones = 3, .zones = 12},
                                           Shape{.copies = 1, .own_zones = 3, .zones = 12, .max_active = 4},
                                           Shape{.copies = 2, .own_zones = 5, .zones = 20},
                                           Shape{.copies = 2, .own_zones = 5, .zones = 20, .max_active = 8}),
                         [](const auto& shape) {
                           return fmt::format("{}Copies{}Slots", shape.param.copies, shape.param.max_active);
                         });

}  // namespace
}  // namespace zenfs::metalog_growth_test
