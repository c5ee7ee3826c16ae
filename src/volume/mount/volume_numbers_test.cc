// Metadata with numbers so high that the frames of a writer that continued from them would not be read.
#include "format/frame.h"
#include "testing/direct_commit.h"
#include "volume/fsck/check_volume.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeNumbersTest : public VolumeTest {
 protected:
  // Makes a file /a.log and commits `edits`.
  void Commit(std::vector<Edit> edits) {
    Put("a.log", "synced");
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ASSERT_TRUE(IsOk(CommitDirectly(*device_, [&](const State&) { return std::move(edits); })));
  }

  // A damaged volume can't pass the check at the end of VolumeTest.
  void ExpectRefused() {
    const auto mounted = Volume::Mount(Borrow(*device_), {});
    ASSERT_FALSE(mounted.has_value());
    EXPECT_EQ(mounted.error().code(), Code::kCorruption) << mounted.error().ToString();
    const auto report = CheckVolume(*device_, {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_FALSE(report->clean());
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
  }
};

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAnEpochThatNoWriterComesTo) {
  Commit({BeginEpoch{kCredibleEnd}});
  ExpectRefused();
}

// Otherwise the mount would raise the epoch to a value that counts as damage.
TEST_F(VolumeNumbersTest, NoMountMakesASoundVolumeOneThatNoWriterComesTo) {
  Commit({BeginEpoch{kCredibleEnd - 1}});
  const auto mounted = Volume::Mount(Borrow(*device_), {});
  ASSERT_FALSE(mounted.has_value());
  EXPECT_EQ(mounted.error().code(), Code::kCorruption) << mounted.error().ToString();
  ExpectSound();
  ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
}

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAFileIdThatNoWriterComesTo) {
  Commit({RaiseCounters{kCredibleEnd, 0}});
  ExpectRefused();
}

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAGenerationThatNoWriterComesTo) {
  Commit({RaiseCounters{0, kCredibleEnd}});
  ExpectRefused();
}

}  // namespace
}  // namespace zenfs
