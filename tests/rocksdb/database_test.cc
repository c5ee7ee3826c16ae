// Databases in zones, opened as applications open them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "test_volume.h"

namespace zenfs {
namespace {

using ::testing::IsEmpty;

std::string ValueOf(int i, int version) {
  return RandomBytes(800, static_cast<std::uint64_t>(i) * 1'000 + static_cast<std::uint64_t>(version));
}

// Small buffers and files, so that flushes and compactions happen within a few thousand keys.
rocksdb::Options SmallOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  options.target_file_size_base = 1 << 20;
  options.max_bytes_for_level_base = 4 << 20;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 4;
  options.compression = rocksdb::kNoCompression;
  return options;
}

class Database : public ::testing::Test {
 protected:
  void SetUp() override {
    env_ = rocksdb::Env::Default();
    ASSERT_STATUS_OK(
        rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_.uri(), &env_, &guard_));
  }
  void TearDown() override {
    db_.reset();
    env_ = nullptr;
    guard_.reset();  // unmounts
    EXPECT_TRUE(volume_.CheckIsClean());
  }

  static std::unique_ptr<rocksdb::DB> OpenDb(const rocksdb::Options& options, const std::string& path) {
    rocksdb::DB* db = nullptr;
    EXPECT_STATUS_OK(rocksdb::DB::Open(options, path, &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }
  static void Put(rocksdb::DB& db, int first, int last, int version, bool sync = false) {
    rocksdb::WriteOptions write;
    write.sync = sync;
    for (int i = first; i < last; ++i) ASSERT_STATUS_OK(db.Put(write, KeyOf(i), ValueOf(i, version)));
  }
  static void Verify(rocksdb::DB& db, int first, int last, int version) {
    rocksdb::ReadOptions read;
    read.verify_checksums = true;
    std::string value;
    for (int i = first; i < last; ++i) {
      ASSERT_STATUS_OK(db.Get(read, KeyOf(i), &value)) << KeyOf(i);
      ASSERT_EQ(value, ValueOf(i, version)) << KeyOf(i);
    }
  }
  static int CountByIterator(rocksdb::DB& db, const rocksdb::ReadOptions& read) {
    std::unique_ptr<rocksdb::Iterator> iterator(db.NewIterator(read));
    int count = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++count;
    EXPECT_STATUS_OK(iterator->status());
    return count;
  }
  void Remount() {
    db_.reset();
    guard_.reset();
    SetUp();
  }

  TestVolume volume_;
  rocksdb::Env* env_ = nullptr;
  std::shared_ptr<rocksdb::Env> guard_;
  std::unique_ptr<rocksdb::DB> db_;
};

struct IoMode {
  const char* name;
  bool direct;
  bool checksum_handoff;
};

class DatabaseIo : public Database, public ::testing::WithParamInterface<IoMode> {
 protected:
  rocksdb::Options Options() {
    rocksdb::Options options = SmallOptions(env_);
    options.use_direct_reads = GetParam().direct;
    options.use_direct_io_for_flush_and_compaction = GetParam().direct;
    if (GetParam().checksum_handoff) {
      for (auto type : {rocksdb::kWalFile, rocksdb::kTableFile, rocksdb::kDescriptorFile}) {
        options.checksum_handoff_file_types.Add(type);
      }
    }
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, DatabaseIo,
                         ::testing::Values(IoMode{"Buffered", false, false}, IoMode{"Direct", true, false},
                                           IoMode{"BufferedWithChecksums", false, true},
                                           IoMode{"DirectWithChecksums", true, true}),
                         [](const auto& param) { return param.param.name; });

TEST_P(DatabaseIo, WhatIsWrittenIsReadBackThroughFlushCompactionAndReopen) {
  constexpr int kKeys = 12'000;
  db_ = OpenDb(Options(), "/db");
  ASSERT_NE(db_, nullptr);
  Put(*db_, 0, kKeys, 1);
  Put(*db_, 0, kKeys / 2, 2);
  ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  ASSERT_STATUS_OK(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  Verify(*db_, 0, kKeys / 2, 2);
  Verify(*db_, kKeys / 2, kKeys, 1);
  ASSERT_STATUS_OK(db_->VerifyChecksum());
  Put(*db_, kKeys, kKeys + 100, 3);  // stays in the WAL
  Remount();
  db_ = OpenDb(Options(), "/db");
  ASSERT_NE(db_, nullptr);
  Verify(*db_, 0, kKeys / 2, 2);
  Verify(*db_, kKeys / 2, kKeys, 1);
  Verify(*db_, kKeys, kKeys + 100, 3);
  EXPECT_EQ(CountByIterator(*db_, rocksdb::ReadOptions()), kKeys + 100);
}

TEST_P(DatabaseIo, MultiGetAndReadaheadIteratorsSeeEveryKey) {
  constexpr int kKeys = 4'000;
  db_ = OpenDb(Options(), "/db");
  ASSERT_NE(db_, nullptr);
  Put(*db_, 0, kKeys, 1);
  ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  for (int first = 0; first < kKeys; first += 64) {
    std::vector<std::string> keys;
    for (int i = first; i < std::min(first + 64, kKeys); ++i) keys.push_back(KeyOf(i));
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> values(slices.size());
    std::vector<rocksdb::Status> statuses(slices.size());
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    db_->MultiGet(read, db_->DefaultColumnFamily(), slices.size(), slices.data(), values.data(),
                  statuses.data());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      ASSERT_STATUS_OK(statuses[i]);
      ASSERT_EQ(values[i].ToString(), ValueOf(first + static_cast<int>(i), 1));
    }
  }
  for (const bool async : {false, true}) {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    read.readahead_size = 256 << 10;
    read.async_io = async;
    EXPECT_EQ(CountByIterator(*db_, read), kKeys) << async;
  }
}

TEST_P(DatabaseIo, RecycledLogsAndSyncedWritesSurviveReopen) {
  for (int round = 0; round < 3; ++round) {
    rocksdb::Options options = Options();
    options.recycle_log_file_num = 2;
    db_ = OpenDb(options, "/db");
    ASSERT_NE(db_, nullptr);
    if (round > 0) Verify(*db_, 0, round * 2'000, 1);
    Put(*db_, round * 2'000, (round + 1) * 2'000, 1, /*sync=*/round == 1);
    ASSERT_STATUS_OK(db_->SyncWAL());
    Remount();
  }
}

TEST_P(DatabaseIo, CheckpointSurvivesItsDatabase) {
  db_ = OpenDb(Options(), "/db");
  ASSERT_NE(db_, nullptr);
  Put(*db_, 0, 3'000, 1);
  rocksdb::Checkpoint* raw = nullptr;
  ASSERT_STATUS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  ASSERT_STATUS_OK(checkpoint->CreateCheckpoint("/checkpoint"));
  Put(*db_, 0, 3'000, 2);
  db_.reset();
  ASSERT_STATUS_OK(rocksdb::DestroyDB("/db", Options()));
  Remount();
  db_ = OpenDb(Options(), "/checkpoint");
  ASSERT_NE(db_, nullptr);
  Verify(*db_, 0, 3'000, 1);
}

TEST_F(Database, TwoDatabasesShareAVolume) {
  const rocksdb::Options options = SmallOptions(env_);
  db_ = OpenDb(options, "/one");
  auto other = OpenDb(options, "/two");
  ASSERT_TRUE(db_ && other);
  for (int i = 0; i < 4'000; i += 100) {
    Put(*db_, i, i + 100, 1);
    Put(*other, i, i + 100, 2);
  }
  ASSERT_STATUS_OK(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  Verify(*db_, 0, 4'000, 1);
  Verify(*other, 0, 4'000, 2);
}

TEST_F(Database, SecondOpenIsRefusedByTheLock) {
  db_ = OpenDb(SmallOptions(env_), "/db");
  rocksdb::DB* second = nullptr;
  const rocksdb::Status refused = rocksdb::DB::Open(SmallOptions(env_), "/db", &second);
  EXPECT_TRUE(refused.IsIOError());
  EXPECT_THAT(refused.ToString(), ::testing::HasSubstr("lock is held"));
}

TEST_F(Database, DestroyedDatabaseLeavesNothingBehind) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  auto fs = env_->GetFileSystem();
  ASSERT_STATUS_OK(fs->GetFreeSpace("/", kIo, &before, nullptr));
  for (int round = 0; round < 3; ++round) {
    db_ = OpenDb(SmallOptions(env_), "/db");
    ASSERT_NE(db_, nullptr);
    Put(*db_, 0, 20'000, round);
    db_.reset();
    ASSERT_STATUS_OK(rocksdb::DestroyDB("/db", SmallOptions(env_)));
  }
  std::vector<std::string> names;
  ASSERT_STATUS_OK(fs->GetChildren("/", kIo, &names, nullptr));
  EXPECT_THAT(names, IsEmpty());
  ASSERT_STATUS_OK(fs->GetFreeSpace("/", kIo, &after, nullptr));
  EXPECT_GE(after + (48u << 20), before);  // what is not back is at most zones kept for logs
}

TEST_F(Database, IngestedTableIsRead) {
  const rocksdb::Options options = SmallOptions(env_);
  db_ = OpenDb(options, "/db");
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(), options};
  ASSERT_STATUS_OK(writer.Open("/outside.sst"));
  for (int i = 0; i < 1'000; ++i) ASSERT_STATUS_OK(writer.Put(KeyOf(i), ValueOf(i, 7)));
  ASSERT_STATUS_OK(writer.Finish());
  rocksdb::IngestExternalFileOptions ingestion;
  ingestion.move_files = true;
  ASSERT_STATUS_OK(db_->IngestExternalFile({"/outside.sst"}, ingestion));
  Verify(*db_, 0, 1'000, 7);
}

// Both ask for tables mapped into memory, and take pointers into them.
TEST_F(Database, TablesAreReadAsIfMapped) {
  rocksdb::Options options = SmallOptions(env_);
  options.allow_mmap_reads = true;
  for (const char* path : {"block_based", "plain"}) {
    db_ = OpenDb(options, path);
    ASSERT_NE(db_, nullptr);
    Put(*db_, 0, 3'000, 1);
    ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
    Verify(*db_, 0, 3'000, 1);
    db_.reset();
    options.table_factory.reset(rocksdb::NewPlainTableFactory());
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(10));
  }
}

TEST_F(Database, BackupIsRestored) {
  const rocksdb::Options options = SmallOptions(env_);
  db_ = OpenDb(options, "/db");
  Put(*db_, 0, 2'000, 1);
  rocksdb::BackupEngineOptions backup_options("/backup", env_);
  rocksdb::BackupEngine* raw = nullptr;
  ASSERT_STATUS_OK(rocksdb::BackupEngine::Open(env_, backup_options, &raw));
  const std::unique_ptr<rocksdb::BackupEngine> backups(raw);
  ASSERT_STATUS_OK(backups->CreateNewBackup(db_.get(), /*flush_before_backup=*/true));
  Put(*db_, 0, 2'000, 2);
  db_.reset();
  ASSERT_STATUS_OK(backups->RestoreDBFromLatestBackup("/db", "/db"));
  db_ = OpenDb(options, "/db");
  Verify(*db_, 0, 2'000, 1);
}

TEST_F(Database, RepeatedRecoveriesWithoutAFlushLoseNothing) {
  rocksdb::Options options = SmallOptions(env_);
  options.avoid_flush_during_recovery = true;
  for (int round = 0; round < 4; ++round) {
    db_ = OpenDb(options, "/db");
    ASSERT_NE(db_, nullptr);
    Verify(*db_, 0, round * 100, 1);
    Put(*db_, round * 100, (round + 1) * 100, 1);
    db_.reset();
  }
}

TEST_F(Database, OpensReadOnly) {
  {
    db_ = OpenDb(SmallOptions(env_), "/db");
    ASSERT_NE(db_, nullptr);
    Put(*db_, 0, 1'000, 1);
    db_.reset();
  }
  rocksdb::Options options = SmallOptions(env_);
  rocksdb::DB* raw = nullptr;
  ASSERT_STATUS_OK(rocksdb::DB::OpenForReadOnly(options, "/db", &raw));
  db_.reset(raw);
  Verify(*db_, 0, 1'000, 1);
}

// One that the volume has no room for: the error says so, nothing acknowledged is lost, deleting makes room.
TEST(DatabaseSpace, FullDeviceIsNoSpaceAndDeletingMakesRoom) {
  EmulatorGeometry geometry;
  geometry.zones = 24;
  geometry.zone_size = 4u << 20;
  const TestVolume volume(geometry);
  auto fs = volume.Open("space_wait_s:1");
  ASSERT_NE(fs, nullptr);
  std::map<std::string, std::string> written;
  IOStatus status;
  for (int i = 0; status.ok(); ++i) {
    ASSERT_LT(i, 1'000);
    const std::string path = "/" + std::to_string(i) + ".sst";
    const std::string bytes = RandomBytes(1'000'000, static_cast<std::uint64_t>(i));
    status = WriteWhole(*fs, path, bytes);
    if (status.ok()) written[path] = bytes;
  }
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_GT(written.size(), 40u);
  fs.reset();
  fs = volume.Open("space_wait_s:1");
  for (const auto& [path, bytes] : written) ASSERT_EQ(ReadWhole(*fs, path), bytes) << path;
  for (const auto& [path, bytes] : written) ASSERT_STATUS_OK(fs->DeleteFile(path, kIo, nullptr));
  EXPECT_STATUS_OK(WriteWhole(*fs, "/again.sst", RandomBytes(20 << 20, 1)));
}

}  // namespace
}  // namespace zenfs
