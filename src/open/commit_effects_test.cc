// The effects of a durable commit on names, files and zones.
#include "open/commit_path.h"

#include <gtest/gtest.h>

#include <optional>

#include "open/open_file_table.h"
#include "open/open_framed_file.h"
#include "wal/wal_test_rig.h"
#include "zone/extent_sink.h"

namespace zenfs {
namespace {

class CommitEffectsTest : public testing::Test {
 protected:
  static constexpr FileId kFile{2};

  CommitEffectsTest() {
    rig_.Mount(false);
    effects_.emplace(catalog_, *rig_.zones, files_, logs_, *rig_.log);
    effects_->OnCommitted(std::vector<Edit>{RaiseCounters{100, 0}, CreateFile{.id = kFile},
                                            LinkFile{kRootDirectory, "file", kFile}});
  }

  // Writes two blocks, whose zone is pinned until they are committed.
  Extent WriteExtent() {
    AlignedBuffer buffer(2 * kTestBlock);
    buffer.Resize(2 * kTestBlock);
    const ByteView bytes = buffer.View();
    auto placed = ExtentSink(*rig_.zones).Write(cursor_, Lifetime::kNotSet, {&bytes, 1}, ZoneTestRig::Soon());
    EXPECT_TRUE(placed.ok());
    pin_ = std::move(placed->pin);
    return {0, placed->place, placed->length};
  }
  ZoneId ZoneOf(const Extent& extent) const { return rig_.device.geometry().ZoneOf(extent.place); }

  WalRig rig_{TestGeometry(8, 16)};
  Catalog catalog_{State()};
  Metrics metrics_;
  AppendBuffers buffers_;
  OpenFileTable files_{metrics_, buffers_};
  LogStore logs_;
  std::optional<CommitEffects> effects_;
  SinkCursor cursor_;
  ZonePin pin_;
};

TEST_F(CommitEffectsTest, AFileThatLosesItsLastNameIsMarkedForThoseWhoHaveItOpen) {
  const auto file = std::make_shared<OpenFramedFile>(
      nullptr, Lifetime::kNotSet, true,
      std::make_shared<FramedFile>(FramedFile::Deps{.device = &rig_.device, .zones = rig_.zones.get()},
                                   kFile));
  files_.Add(file);
  effects_->OnCommitted(std::vector<Edit>{LinkFile{kRootDirectory, "other", kFile}});
  effects_->OnCommitted(std::vector<Edit>{UnlinkFile{kRootDirectory, "file"}});
  EXPECT_FALSE(file->unlinked);
  effects_->OnCommitted(std::vector<Edit>{UnlinkFile{kRootDirectory, "other"}});
  EXPECT_TRUE(file->unlinked);
  EXPECT_EQ(catalog_.FindFile(kFile), nullptr);
  EXPECT_TRUE(effects_->health().ok());
}

TEST_F(CommitEffectsTest, ExtentsThatAreCommittedAreLiveUntilTheyAreReplaced) {
  const Extent extent = WriteExtent();
  effects_->OnCommitted(std::vector<Edit>{SetExtents{kFile, 0, {extent}, extent.length, 1}});
  EXPECT_EQ(rig_.zones->Zone(ZoneOf(extent)).live, extent.length);
  effects_->OnCommitted(std::vector<Edit>{SetExtents{kFile, 0, {}, 0, 1}});
  EXPECT_EQ(rig_.zones->Zone(ZoneOf(extent)).live, 0U);
}

TEST_F(CommitEffectsTest, MoreBytesThatDieThanWereLiveEndWriting) {
  const Extent extent = WriteExtent();
  effects_->OnCommitted(std::vector<Edit>{SetExtents{kFile, 0, {extent}, extent.length, 1}});
  rig_.zones->RemoveLive({&extent, 1});  // from here on the counts of live bytes are wrong
  effects_->OnCommitted(std::vector<Edit>{SetExtents{kFile, 0, {}, 0, 1}});
  EXPECT_FALSE(effects_->health().ok());
}

TEST_F(CommitEffectsTest, ACommitThatContradictsTheCatalogEndsWriting) {
  effects_->OnCommitted(std::vector<Edit>{UnlinkFile{kRootDirectory, "no such name"}});
  ASSERT_FALSE(effects_->health().ok());
  EXPECT_NE(effects_->health().error().ToString().find("contradicts the catalog"), std::string::npos);
  EXPECT_NE(catalog_.FindFile(kFile), nullptr);
}

}  // namespace
}  // namespace zenfs
