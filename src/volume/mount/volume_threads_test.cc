// A host that refuses threads: a mount fails or succeeds, and synced bytes are there.
#include "testing/refused_threads.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeWithoutThreads : public VolumeTest {
 protected:
  static EmulatorGeometry Shape() {
    return {
        .zones = 80, .zone_size = 128 << 10, .zone_capacity = 128 << 10, .max_open = 14, .max_active = 14};
  }
  VolumeWithoutThreads() : VolumeTest(Shape()) {
    Put("before.sst", "before");
    Unmount();
  }

  void Unmount() {
    if (volume_ == nullptr) return;
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
  }
  bool TryMount() {
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(Borrow(*device_), {});
    if (volume) {
      volume_ = *std::move(volume);
      return true;
    }
    EXPECT_EQ(volume.error().code(), Code::kBusy) << volume.error().ToString();
    return false;
  }
  // Works until the metadata log has switched zones several times.
  void Work() {
    const std::uint64_t first = volume_->counters().metalog.generation;
    auto log = volume_->Create("1.log");
    ASSERT_TRUE(IsOk(log));
    for (int i = 0; i < 600 && volume_->counters().metalog.generation < first + 3; ++i) {
      content_ = std::to_string(i);
      Put("CURRENT", content_);
      logged_ += content_;
      ASSERT_TRUE(IsOk((*log)->Append(AsBytes(content_))));
      ASSERT_TRUE(IsOk((*log)->Sync()));
    }
    EXPECT_GE(volume_->counters().metalog.generation, first + 3);
  }
  void ExpectAllThere() {
    Unmount();
    Mount();
    EXPECT_EQ(Get("before.sst"), "before");
    if (!content_.empty()) {
      EXPECT_EQ(Get("CURRENT"), content_);
      EXPECT_EQ(Get("1.log"), logged_);
    }
    Unmount();
    content_.clear();
    logged_.clear();
  }

  std::string content_;
  std::string logged_;
};

TEST_F(VolumeWithoutThreads, EachThreadMayBeRefusedOnceAndWhatWasSyncedIsThere) {
  int mounts_refused = 0;
  for (int n = 1;; ++n) {
    SCOPED_TRACE("thread " + std::to_string(n));
    bool refused = false;
    {
      const RefusedThreads threads(n);
      if (TryMount()) {
        Work();
        Unmount();
      } else {
        ++mounts_refused;
      }
      refused = RefusedThreads::happened();
    }
    ExpectAllThere();
    if (!refused || HasFailure()) break;
  }
  EXPECT_GT(mounts_refused, 0);
}

TEST_F(VolumeWithoutThreads, MetadataLogMovesToAnotherZoneWithoutAThreadOfItsOwn) {
  Mount();
  {
    const RefusedThreads threads(1, RefusedThreads::kForEver);
    Work();
    EXPECT_TRUE(RefusedThreads::happened());
    Unmount();
  }
  ExpectAllThere();
}

}  // namespace
}  // namespace zenfs
