#include "wal/framed_file.h"

#include <gtest/gtest.h>

#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

TEST(LogStoreTest, FileIsFoundUntilItIsRemovedAndLivesAsLongAsItsHandles) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  LogStore store;
  auto file = rig.NewFile();
  const FileId id = file->id();
  store.Add(file);
  EXPECT_EQ(store.Find(id), file);
  EXPECT_EQ(store.All().size(), 1U);
  store.Remove(id);
  EXPECT_EQ(store.Find(id), nullptr);
  EXPECT_TRUE(store.All().empty());
  ASSERT_TRUE(file->Append(AsBytes("still open")).ok());
  EXPECT_EQ(WalRig::Content(*file), "still open");
  store.Remove(id);  // nothing
}

}  // namespace
}  // namespace zenfs
