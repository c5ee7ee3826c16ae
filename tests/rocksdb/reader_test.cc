// Databases opened for reading, on a `?ro` URI, while a writer in this or another process works on them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kill_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "test_volume.h"
#include "writer_process.h"

namespace zenfs {
namespace {

class Reader : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STATUS_OK(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_.uri("ro"),
                                                 &reader_env_, &reader_guard_));
  }
  void TearDown() override {
    secondary_.reset();
    primary_.reset();
    writer_guard_.reset();
    reader_guard_.reset();
    EXPECT_TRUE(volume_.CheckIsClean());
  }

  void OpenPrimary() {
    rocksdb::Env* env = rocksdb::Env::Default();
    ASSERT_STATUS_OK(
        rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_.uri(), &env, &writer_guard_));
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(rocksdb::DB::Open(KillOptions(env), "/db", &db));
    primary_.reset(db);
  }
  void Put(long first, long last) {
    rocksdb::WriteOptions synced;
    synced.sync = true;
    for (long i = first; i < last; ++i) ASSERT_STATUS_OK(primary_->Put(synced, KillKey(i), KillValue(i)));
  }
  rocksdb::Options ReaderOptions() {
    rocksdb::Options options = KillOptions(reader_env_);
    options.create_if_missing = false;
    options.max_open_files = -1;
    // Its own log is the one thing that a reader writes: it goes to the host.
    EXPECT_STATUS_OK(rocksdb::Env::Default()->NewLogger(volume_.directory() + "/LOG", &options.info_log));
    return options;
  }
  void OpenSecondary() {
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(
        rocksdb::DB::OpenAsSecondary(ReaderOptions(), "/db", volume_.directory() + "/secondary", &db));
    secondary_.reset(db);
  }
  // All keys below `count` are there, with their values. RocksDB reads the manifest before the logs: what the
  // primary moves from a log to a table, or to another table, in between is missing until the next look.
  void ExpectKeys(long count) {
    for (long i = 0; i < count; ++i) {
      std::string value;
      rocksdb::Status got = secondary_->Get(rocksdb::ReadOptions(), KillKey(i), &value);
      for (int tries = 0; !got.ok() && tries < 10; ++tries) {
        ASSERT_STATUS_OK(secondary_->TryCatchUpWithPrimary());
        got = secondary_->Get(rocksdb::ReadOptions(), KillKey(i), &value);
      }
      ASSERT_STATUS_OK(got) << KillKey(i);
      ASSERT_EQ(value, KillValue(i));
    }
  }

  TestVolume volume_;
  rocksdb::Env* reader_env_ = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> reader_guard_;
  std::shared_ptr<rocksdb::Env> writer_guard_;
  std::unique_ptr<rocksdb::DB> primary_;
  std::unique_ptr<rocksdb::DB> secondary_;
};

TEST_F(Reader, ReadOnlyDatabaseBesideItsWriterShowsWhatWasSyncedWhenItWasOpened) {
  OpenPrimary();
  long keys = 0;
  for (int round = 0; round < 5; ++round) {
    Put(keys, keys + 700);
    keys += 700;
    // A read-only open reads the manifest, then the logs. On any file system it misses, or fails to read, what the
    // writer flushes from a log to a table in between, so no flush may be under way.
    ASSERT_STATUS_OK(primary_->PauseBackgroundWork());
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(rocksdb::DB::OpenForReadOnly(ReaderOptions(), "/db", &db));
    secondary_.reset(db);
    ASSERT_STATUS_OK(primary_->ContinueBackgroundWork());
    for (long i = 0; i < keys; ++i) {
      std::string value;
      ASSERT_STATUS_OK(db->Get(rocksdb::ReadOptions(), KillKey(i), &value)) << KillKey(i);
      ASSERT_EQ(value, KillValue(i));
    }
    EXPECT_FALSE(db->Put(rocksdb::WriteOptions(), "key", "value").ok());
  }
}

TEST_F(Reader, SecondaryCatchesUpThroughFlushesCompactionsAndNewManifests) {
  OpenPrimary();
  Put(0, 300);
  OpenSecondary();
  ExpectKeys(300);
  long keys = 300;
  for (int round = 0; round < 6; ++round) {
    Put(keys, keys + 500);
    keys += 500;
    if (round % 2 == 0) {
      ASSERT_STATUS_OK(primary_->Flush(rocksdb::FlushOptions()));
    }
    if (round == 3) {
      ASSERT_STATUS_OK(primary_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
    }
    if (round == 4) {  // a new manifest, and the mount epoch after the next
      primary_.reset();
      writer_guard_.reset();
      OpenPrimary();
    }
    ASSERT_STATUS_OK(secondary_->TryCatchUpWithPrimary());
    ExpectKeys(keys);
  }
}

TEST_F(Reader, ASecondarySeesWritesThatWereNotSynced) {
  OpenPrimary();
  OpenSecondary();
  for (long i = 0; i < 200; ++i) {
    ASSERT_STATUS_OK(primary_->Put(rocksdb::WriteOptions(), KillKey(i), KillValue(i)));
    ASSERT_STATUS_OK(secondary_->TryCatchUpWithPrimary());
    std::string value;
    ASSERT_STATUS_OK(secondary_->Get(rocksdb::ReadOptions(), KillKey(i), &value)) << KillKey(i);
    ASSERT_EQ(value, KillValue(i));
  }
}

// RocksDB flushes each write to its log, so that it survives the process. On POSIX a reader sees it.
TEST_F(Reader, AReadOnlyDatabaseShowsWhatAKilledWriterHadAcknowledgedWithoutSync) {
  const char* program = std::getenv("ZENFS_KILL_WRITER");
  if (program == nullptr)
    GTEST_SKIP() << "ZENFS_KILL_WRITER does not name the writer; run this through ctest";
  long first = 0;
  for (int round = 0; round < 4; ++round) {
    WriterProcess writer(program, volume_.uri(), first, "flush");
    ASSERT_TRUE(writer.WaitFor(first + 500 + 700 * round));
    ASSERT_TRUE(writer.Kill());
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(rocksdb::DB::OpenForReadOnly(ReaderOptions(), "/db", &db));
    secondary_.reset(db);
    for (long i = 0; i <= writer.acknowledged(); ++i) {
      std::string value;
      ASSERT_STATUS_OK(db->Get(rocksdb::ReadOptions(), KillKey(i), &value)) << KillKey(i);
      ASSERT_EQ(value, KillValue(i));
    }
    first = writer.acknowledged() + 1;
  }
}

TEST_F(Reader, SecondaryFollowsAWriterInAnotherProcessAndOutlivesIt) {
  const char* program = std::getenv("ZENFS_KILL_WRITER");
  if (program == nullptr)
    GTEST_SKIP() << "ZENFS_KILL_WRITER does not name the writer; run this through ctest";
  long first = 0;
  for (int round = 0; round < 3; ++round) {
    WriterProcess writer(program, volume_.uri(), first);
    ASSERT_TRUE(writer.WaitFor(first + 100)) << "a reader was in its way, or see its message above";
    if (secondary_ == nullptr) OpenSecondary();
    for (int look = 1; look <= 5; ++look) {
      ASSERT_TRUE(writer.WaitFor(first + look * 300));
      const long acknowledged = writer.acknowledged();
      ASSERT_STATUS_OK(secondary_->TryCatchUpWithPrimary());
      ExpectKeys(acknowledged + 1);
      if (HasFailure()) return;
    }
    ASSERT_TRUE(writer.Kill());
    ASSERT_STATUS_OK(secondary_->TryCatchUpWithPrimary());
    ExpectKeys(writer.acknowledged() + 1);
    first = writer.acknowledged() + 1;
  }
}

}  // namespace
}  // namespace zenfs
