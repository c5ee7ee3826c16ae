// Metadata with valid checksums that names places outside the device. Found by fuzzing: such places were used anyway, and a
// check read such an extent for ever.
#include "volume/fsck/places.h"

#include <gmock/gmock.h>

#include "device/read_only_view.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

class PlacesTest : public testing::Test {
 protected:
  PlacesTest() : device_(CreateMemoryDevice(SmallGeometry())) {
    EXPECT_TRUE(IsOk(FormatVolume(*device_, {})));
  }

  void Commit(std::vector<Edit> edits) {
    const auto superblock = ProbeSuperblock(*device_);
    ASSERT_TRUE(IsOk(superblock));
    const auto log = Metalog::Open(*device_, *superblock);
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Commit(std::move(edits))));
    (*log)->Stop();
  }
  void CommitExtent(DeviceOffset place, std::uint64_t length) {
    Commit({RaiseCounters{3, 0}, CreateFile{.id = FileId(2)},
            LinkFile{.parent = kRootDirectory, .name = "far.sst", .id = FileId(2)},
            SetExtents{.id = FileId(2), .extents = {{0, place, length}}, .size = length}});
  }
  void ExpectRefusedAndFound(const std::string& text) {
    const auto mounted = Volume::Mount(Borrow(*device_), {});
    ASSERT_FALSE(mounted);
    EXPECT_EQ(mounted.error().code(), Code::kCorruption);
    EXPECT_THAT(mounted.error().text(), HasSubstr(text));
    const auto report = CheckVolume(*device_, {.read_data = true, .progress = {}});
    ASSERT_TRUE(IsOk(report));
    EXPECT_FALSE(report->clean());
    const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {});
    if (!reader) return;
    std::vector<std::byte> bytes(100);
    const auto file = (*reader)->OpenForRead("far.sst");
    if (!file) return;
    EXPECT_FALSE((*file)->Read(0, bytes));
  }

  std::unique_ptr<EmulatorDevice> device_;
};

TEST_F(PlacesTest, LogZoneThatTheDeviceHasNotIsRefused) {
  Commit({AllocateLogZones{{{ZoneId(1 << 30), 1, 7}}}, RaiseCounters{0, 2}});
  ExpectRefusedAndFound("allocates zone 1073741824");
}

// Found by fuzzing: data was written to such a zone.
TEST_F(PlacesTest, LogZoneThatIsAMetadataZoneIsRefused) {
  Commit({AllocateLogZones{{{ZoneId(2), 1, 7}}}, RaiseCounters{0, 2}});
  ExpectRefusedAndFound("allocates zone 2 to the log, which can't be a log zone");
}

TEST_F(PlacesTest, ExtentInAMetadataZoneIsRefused) {
  CommitExtent(device_->geometry().ZoneStart(ZoneId(0)), 4096);
  const auto mounted = Volume::Mount(Borrow(*device_), {});
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().code(), Code::kCorruption);
  EXPECT_THAT(mounted.error().text(), HasSubstr("in a metadata zone"));
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_FALSE(report->clean());
}

TEST_F(PlacesTest, ExtentBehindTheDeviceIsRefused) {
  CommitExtent(DeviceOffset(std::uint64_t{1} << 50), 4096);
  ExpectRefusedAndFound("not within one zone");
}

TEST_F(PlacesTest, ExtentThatIsLongerThanItsZoneIsRefusedAndNotReadForEver) {
  CommitExtent(DeviceOffset(20 << 20), std::uint64_t{1} << 62);
  ExpectRefusedAndFound("not within one zone");
}

}  // namespace
}  // namespace zenfs
