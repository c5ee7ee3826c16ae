// What RocksDB decides by the times of files. It asks for one in two places (7.8 to 11.8): for each archived log, whether
// WAL_ttl_seconds have passed since; and for tables that tell no time of creation themselves, for periodic compaction.
// Everything else goes by what is in tables (ttl, FIFO by age), in names (old info logs), or by checksums and sizes
// (file_checksum, backups, checkpoints, trash).
#include <gtest/gtest.h>

#include "base/clock.h"
#include "rocksdb/db.h"
#include "rocksdb/transaction_log.h"
#include "rocksdb/utilities/checkpoint.h"
#include "test_volume.h"

namespace zenfs {
namespace {

constexpr int kPuts = 800;

class FileTimes : public ::testing::Test {
 protected:
  void SetUp() override {
    env_ = rocksdb::Env::Default();
    ASSERT_STATUS_OK(
        rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_.uri(), &env_, &guard_));
    options_.env = env_;
    options_.create_if_missing = true;
  }
  void TearDown() override {
    db_.reset();
    guard_.reset();
    EXPECT_TRUE(volume_.CheckIsClean());
  }
  void Open() {
    db_.reset();
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(rocksdb::DB::Open(options_, "/db", &db));
    db_.reset(db);
  }
  void Put(int first, int last) {
    for (int i = first; i < last; ++i) ASSERT_STATUS_OK(db_->Put({}, KeyOf(i), "value"));
  }
  int UpdatesSinceTheFirst() {
    std::unique_ptr<rocksdb::TransactionLogIterator> updates;
    if (!db_->GetUpdatesSince(1, &updates).ok()) return 0;
    int count = 0;
    for (; updates->Valid(); updates->Next()) ++count;
    return count;
  }
  std::uint64_t TimeOf(const std::string& path) {
    std::uint64_t seconds = 0;
    EXPECT_STATUS_OK(env_->GetFileModificationTime(path, &seconds));
    return seconds;
  }
  std::string NewestOf(const std::string& directory, const std::string& ending) {
    std::vector<std::string> names;
    EXPECT_STATUS_OK(env_->GetChildren(directory, &names));
    std::string newest;
    for (const std::string& name : names) {
      if (name.ends_with(ending) && name > newest) newest = name;
    }
    return directory + "/" + newest;
  }

  const TestVolume volume_;
  rocksdb::Env* env_ = nullptr;
  std::shared_ptr<rocksdb::Env> guard_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

// RocksDB's clock is the real one; ZenFS is told when the log was begun and when it was written last.
TEST_F(FileTimes, ArchivedLogLivesForItsTtlFromItsLastAppend) {
  struct Case {
    std::uint64_t begun_ago;    // seconds
    std::uint64_t written_ago;  // the last append
    int updates;
  };
  options_.WAL_ttl_seconds = 600;
  for (const Case& each : {Case{800, 0, kPuts + 1}, Case{800, 300, kPuts + 1}, Case{1'600, 800, 1}}) {
    const std::uint64_t now = WallSeconds();
    WallClockOverride clock(now - each.begun_ago);
    Open();
    Put(0, 1);
    clock.Set(now - each.written_ago);
    Put(1, kPuts);
    clock.Set(now);
    ASSERT_STATUS_OK(db_->Flush({}));
    Put(kPuts, kPuts + 1);
    ASSERT_STATUS_OK(db_->Flush({}));
    Open();  // deletes what is past its time; else RocksDB looks every WAL_ttl_seconds / 2
    EXPECT_EQ(UpdatesSinceTheFirst(), each.updates) << each.begun_ago << ' ' << each.written_ago;
    db_.reset();
    ASSERT_STATUS_OK(rocksdb::DestroyDB("/db", options_));
  }
}

TEST_F(FileTimes, EveryFileOfADatabaseHasTheTimeOfItsLastWrite) {
  const std::uint64_t now = WallSeconds();
  WallClockOverride clock(now - 500);
  options_.avoid_flush_during_recovery = true;
  Open();
  clock.Set(now - 400);
  Put(0, kPuts);
  EXPECT_EQ(TimeOf(NewestOf("/db", ".log")), now - 400);
  EXPECT_EQ(TimeOf(NewestOf("/db", "OPTIONS-000007")), now - 500);
  clock.Set(now - 300);
  ASSERT_STATUS_OK(db_->Flush({}));
  EXPECT_EQ(TimeOf(NewestOf("/db", ".sst")), now - 300);
  EXPECT_EQ(TimeOf(NewestOf("/db", "MANIFEST-000005")), now - 300);
  EXPECT_EQ(TimeOf("/db/CURRENT"), now - 500);
  clock.Set(now - 200);
  rocksdb::Checkpoint* made = nullptr;
  ASSERT_STATUS_OK(rocksdb::Checkpoint::Create(db_.get(), &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  ASSERT_STATUS_OK(checkpoint->CreateCheckpoint("/copy"));
  EXPECT_EQ(TimeOf(NewestOf("/copy", ".sst")), now - 300) << "it is the same file";
  EXPECT_EQ(TimeOf(NewestOf("/copy", "MANIFEST-000005")), now - 200) << "it is a copy";
  db_.reset();
  clock.Set(now);
  EXPECT_EQ(TimeOf(NewestOf("/db", ".sst")), now - 300);
}

}  // namespace
}  // namespace zenfs
