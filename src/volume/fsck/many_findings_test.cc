// Metadata of a few MiB with more damage than a report lists, of files with long paths. If each finding that is only counted had a
// text, these tests would take minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "testing/deep_tree.h"
#include "volume/fsck/check_volume.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kDepth = 2000;
constexpr std::uint64_t kFlaws = 200'000;

class ManyFindingsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {})));
    ASSERT_TRUE(IsOk(MakeDeepTree(*device_, kDepth)));
  }
  // Adds a file with two names in the deepest directory.
  void AddFile(FileShape shape, const std::function<Edit(FileId)>& content_of) {
    ASSERT_TRUE(IsOk(CommitDirectly(*device_, [&](const State& state) {
      const FileId id(state.next_id());
      const FileId parent(id.value - 2);  // before the file of MakeDeepTree
      return std::vector<Edit>{
          RaiseCounters{id.value + 1, 0}, BeginEpoch{state.epoch() + 1}, CreateFile{.id = id, .shape = shape},
          LinkFile{parent, "a", id},      LinkFile{parent, "b", id},     content_of(id)};
    })));
  }
  // Each extent ends behind the write pointer of its zone, and does not match its checksum.
  void AddDamagedExtents() {
    const DeviceOffset place = device_->geometry().ZoneStart(ZoneId(20));
    AddFile(FileShape::kPlain, [&](FileId id) {
      std::vector<Extent> extents;
      for (std::uint64_t i = 0; i < kFlaws; ++i)
        extents.push_back({.file_offset = i, .place = place, .length = 1, .crc = 5});
      return SetExtents{.id = id, .extents = std::move(extents), .size = kFlaws};
    });
  }
  // No window has a frame.
  void AddLostFrames() {
    AddFile(FileShape::kFramed, [&](FileId id) {
      std::vector<LogWindow> windows;
      for (std::uint64_t i = 1; i <= kFlaws; ++i)
        windows.push_back({.epoch = 1, .first_sequence = 2 * i, .last_sequence = 2 * i, .end = i});
      return SealLog{
          .id = id, .windows = std::move(windows), .next_sequence = 2 * kFlaws + 1, .size = kFlaws};
    });
  }
  static std::uint64_t Errors(const Findings& findings) {
    return static_cast<std::uint64_t>(std::ranges::count(findings, Severity::kError, &Finding::severity)) +
           findings.omitted(Severity::kError);
  }
  std::uint64_t ErrorsOfCheck(bool read_data = false) {
    const auto report = CheckVolume(*device_, {.read_data = read_data, .progress = {}});
    EXPECT_TRUE(IsOk(report));
    return report ? Errors(report->findings) : 0;
  }
  std::uint64_t ErrorsOfScrub() {
    const auto report = ScrubVolume(*device_, {});
    EXPECT_TRUE(IsOk(report));
    return report ? Errors(report->findings) : 0;
  }

  const std::unique_ptr<EmulatorDevice> device_ = CreateMemoryDevice({.zones = 24, .zone_size = 16 << 20});
};

TEST_F(ManyFindingsTest, ACheckCountsDamagedExtents) {
  AddDamagedExtents();
  EXPECT_GE(ErrorsOfCheck(), 2 * kFlaws - 1);
}

TEST_F(ManyFindingsTest, ACheckCountsExtentsThatDoNotMatchTheirChecksum) {
  AddDamagedExtents();
  EXPECT_GE(ErrorsOfCheck(true), 3 * kFlaws - 1);
}

TEST_F(ManyFindingsTest, ACheckCountsLostFrames) {
  AddLostFrames();
  EXPECT_GE(ErrorsOfCheck(), kFlaws);
}

TEST_F(ManyFindingsTest, AScrubCountsDamagedExtents) {
  AddDamagedExtents();
  EXPECT_GE(ErrorsOfScrub(), kFlaws);
}

TEST_F(ManyFindingsTest, AScrubCountsLostFrames) {
  AddLostFrames();
  EXPECT_GE(ErrorsOfScrub(), kFlaws);
}

}  // namespace
}  // namespace zenfs
