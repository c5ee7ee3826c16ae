#include "open/open_file_table.h"

#include <gtest/gtest.h>

#include "file/plain_file_test_rig.h"
#include "metrics/metrics_snapshot.h"
#include "open/open_plain_file.h"

namespace zenfs {
namespace {

class OpenFileTableTest : public testing::Test {
 protected:
  static constexpr FileId kFile{7};
  std::shared_ptr<OpenFile> NewFile() {
    return std::make_shared<OpenPlainFile>(nullptr, kFile, Lifetime::kNotSet, true, rig_.PlainDeps());
  }

  PlainFileRig rig_;
  Metrics metrics_;
  AppendBuffers buffers_;
  OpenFileTable table_{metrics_, buffers_};
};

TEST_F(OpenFileTableTest, AFileThatIsOpenIsNotMadeASecondTime) {
  const auto first = table_.Open(kFile, [this] { return NewFile(); });
  const auto second = table_.Open(kFile, []() -> std::shared_ptr<OpenFile> {
    ADD_FAILURE() << "the file is already open";
    return nullptr;
  });
  EXPECT_EQ(first, second);
  EXPECT_FALSE(table_.Release(*first));
  EXPECT_EQ(table_.Find(kFile), first);
  EXPECT_TRUE(table_.Release(*second));
  EXPECT_EQ(table_.Find(kFile), nullptr);
}

TEST_F(OpenFileTableTest, AFileThatCannotBeMadeIsNotOpen) {
  EXPECT_EQ(table_.Open(kFile, [] { return nullptr; }), nullptr);
  EXPECT_EQ(table_.Find(kFile), nullptr);
  EXPECT_TRUE(table_.All().empty());
}

TEST_F(OpenFileTableTest, AFileStaysOpenForWhoeverListedAllOfThem) {
  const auto file = NewFile();
  table_.Add(file);
  const auto all = table_.All();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(table_.Release(*file));
  EXPECT_EQ(table_.Find(kFile), file);
  EXPECT_TRUE(table_.Release(*all.front()));
  EXPECT_EQ(table_.Find(kFile), nullptr);
}

TEST_F(OpenFileTableTest, AFileThatLosesItsNameStaysOpenAndKnowsIt) {
  const auto file = NewFile();
  table_.Add(file);
  table_.MarkUnlinked(kFile);
  table_.MarkUnlinked(FileId(8));  // the file is not open
  EXPECT_TRUE(file->unlinked);
  EXPECT_EQ(table_.Find(kFile), file);
  EXPECT_TRUE(table_.Release(*file));
}

TEST_F(OpenFileTableTest, EachHandleIsCountedOnce) {
  const auto open_files = [this] {
    const auto snapshot = DecodeMetrics(metrics_.page());
    EXPECT_TRUE(snapshot);
    return snapshot ? (*snapshot)[Value::kOpenFiles] : 99;
  };
  const auto file = NewFile();
  table_.Add(file);
  EXPECT_EQ(table_.Open(kFile, [] { return nullptr; }), file);
  EXPECT_EQ(table_.All().size(), 1U);
  EXPECT_EQ(open_files(), 3U);
  for (int handle = 0; handle < 3; ++handle) EXPECT_EQ(table_.Release(*file), handle == 2);
  EXPECT_EQ(open_files(), 0U);
}

class HoldsZoneTest : public OpenFileTableTest {
 protected:
  HoldsZoneTest() {
    const std::string content(kTestBlock, 'x');
    EXPECT_TRUE(rig_.file->Append(AsBytes(content)).ok());
    EXPECT_TRUE(rig_.Sync().ok());
    zone_ = rig_.zone_rig.device.geometry().ZoneOf(rig_.committed.front().place);
    file_ = std::make_shared<OpenPlainFile>(nullptr, kFile, Lifetime::kNotSet, true, rig_.PlainDeps(),
                                            rig_.committed, rig_.committed_size);
    table_.Add(file_);
  }

  ZoneId zone_;
  std::shared_ptr<OpenFile> file_;
};

TEST_F(HoldsZoneTest, AFileThatIsOpenForReadingHoldsNoZone) { EXPECT_FALSE(table_.HoldsZone(zone_)); }

TEST_F(HoldsZoneTest, AFileHoldsItsZonesUntilItsLastWriterIsGone) {
  table_.AddWriter(*file_);
  table_.AddWriter(*file_);
  EXPECT_TRUE(table_.HoldsZone(zone_));
  EXPECT_FALSE(table_.HoldsZone(ZoneId(zone_.value + 1)));
  file_->writers.fetch_sub(1);
  EXPECT_TRUE(table_.HoldsZone(zone_));
  file_->writers.fetch_sub(1);
  EXPECT_FALSE(table_.HoldsZone(zone_));
  table_.AddWriter(*file_);
  EXPECT_TRUE(table_.HoldsZone(zone_));
}

TEST_F(HoldsZoneTest, AFileWithoutANameHoldsItsZonesUntilItIsClosed) {
  table_.AddWriter(*file_);
  file_->writers.fetch_sub(1);
  table_.MarkUnlinked(kFile);
  EXPECT_TRUE(table_.HoldsZone(zone_));
  EXPECT_TRUE(table_.Release(*file_));
  EXPECT_FALSE(table_.HoldsZone(zone_));
}

TEST_F(HoldsZoneTest, AFileThatIsOpenedAnewForReadingHoldsNoZone) {
  table_.AddWriter(*file_);
  EXPECT_TRUE(table_.Release(*file_));  // while its writer is counted, as for a handle that was never closed
  file_->writers.store(0);
  EXPECT_EQ(table_.Open(kFile, [this] { return file_; }), file_);
  EXPECT_FALSE(table_.HoldsZone(zone_));
}

}  // namespace
}  // namespace zenfs
