// RocksDB's own ways to make, copy and remove databases, on a default device.
#include <gmock/gmock.h>

#include "default_device_rig.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"

namespace zenfs::default_database_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

namespace hostfs = std::filesystem;

class DefaultDatabaseTest : public DefaultDeviceTest {
 protected:
  void SetUp() override {
    DefaultDeviceTest::SetUp();
    shared = std::shared_ptr<rocksdb::FileSystem>(std::shared_ptr<void>(), fs.get());
    env = rocksdb::NewCompositeEnv(shared);
  }
  rocksdb::Options Options() const {
    rocksdb::Options options;
    options.env = env.get();
    options.create_if_missing = true;
    return options;
  }
  std::unique_ptr<rocksdb::DB> OpenDb(const std::string& name) {
    rocksdb::DB* db = nullptr;
    EXPECT_STATUS_OK(rocksdb::DB::Open(Options(), At(name), &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }
  std::string Get(rocksdb::DB& db, const std::string& key) {
    std::string value;
    const rocksdb::Status got = db.Get({}, key, &value);
    return got.ok() ? value : got.ToString();
  }

  std::shared_ptr<rocksdb::FileSystem> shared;
  std::unique_ptr<rocksdb::Env> env;
};

TEST_F(DefaultDatabaseTest, ACheckpointIsRenamedIntoPlace) {
  auto db = OpenDb("db");
  ASSERT_STATUS_OK(db->Put({}, "k", "v"));
  for (const char* const name : {"checkpoint", "second"}) {
    rocksdb::Checkpoint* made = nullptr;
    ASSERT_STATUS_OK(rocksdb::Checkpoint::Create(db.get(), &made));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    ASSERT_STATUS_OK(checkpoint->CreateCheckpoint(At(name)));
    ASSERT_STATUS_OK(db->Put({}, "k", "later"));
  }
  EXPECT_EQ(Get(*OpenDb("checkpoint"), "k"), "v");
  EXPECT_EQ(Get(*OpenDb("second"), "k"), "later");
  EXPECT_THAT(OnHost(""), ElementsAre("checkpoint", "db", "second"));
}

TEST_F(DefaultDatabaseTest, ABackupOutsideThePrefixIsOnTheHostAndIsRestored) {
  auto db = OpenDb("db");
  ASSERT_STATUS_OK(db->Put({}, "k", "v"));
  const std::string directory = volume.directory() + "/backup";
  rocksdb::BackupEngine* opened = nullptr;
  ASSERT_STATUS_OK(rocksdb::BackupEngine::Open(env.get(), rocksdb::BackupEngineOptions(directory), &opened));
  const std::unique_ptr<rocksdb::BackupEngine> backup(opened);
  ASSERT_STATUS_OK(backup->CreateNewBackup(db.get(), /*flush_before_backup=*/true));
  EXPECT_FALSE(hostfs::is_empty(directory + "/shared_checksum"));
  EXPECT_FALSE(hostfs::exists(directory + "/ZENFS"));
  ASSERT_STATUS_OK(db->Put({}, "k", "lost"));
  db.reset();
  ASSERT_STATUS_OK(backup->RestoreDBFromLatestBackup(At("restored"), At("restored")));
  EXPECT_EQ(Get(*OpenDb("restored"), "k"), "v");
  EXPECT_THAT(OnHost("restored"), ElementsAre("LOCK", "ZENFS"));
}

TEST_F(DefaultDatabaseTest, TablesAreIngestedFromTheHost) {
  auto db = OpenDb("db");
  const std::string table = volume.directory() + "/table.sst";
  rocksdb::Options options;
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_STATUS_OK(writer.Open(table));
  ASSERT_STATUS_OK(writer.Put("k", "from the host"));
  ASSERT_STATUS_OK(writer.Finish());
  for (const bool move : {false, true}) {
    rocksdb::IngestExternalFileOptions how;
    how.move_files = move;
    ASSERT_STATUS_OK(db->IngestExternalFile({table}, how));
    EXPECT_EQ(Get(*db, "k"), "from the host");
  }
  EXPECT_THAT(OnHost("db"), ElementsAre("LOCK", "ZENFS"));
}

TEST_F(DefaultDatabaseTest, ADestroyedDatabaseLeavesNothing) {
  auto db = OpenDb("db");
  ASSERT_STATUS_OK(db->Put({}, "k", "v"));
  db.reset();
  ASSERT_STATUS_OK(rocksdb::DestroyDB(At("db"), Options()));
  EXPECT_THAT(OnHost(""), Not(Contains("db")));
  env.reset();
  shared.reset();
  Stop();
  EXPECT_THAT(InVolume("db"), IsEmpty());
}

TEST_F(DefaultDatabaseTest, ADatabaseWhoseDirectoryWasWipedBeginsEmpty) {
  for (int round = 0; round < 3; ++round) {
    auto db = OpenDb("db");
    EXPECT_EQ(Get(*db, "stale"), "NotFound: ");
    ASSERT_STATUS_OK(db->Put({}, "stale", "v"));
    if (round == 1) hostfs::remove_all(At("db"));  // under an open database
    db.reset();
    hostfs::remove_all(At("db"));
  }
}

TEST_F(DefaultDatabaseTest, ADatabaseWhoseMarkerWasRemovedCanBeClosed) {
  auto db = OpenDb("db");
  ASSERT_STATUS_OK(db->Put({}, "k", "v"));
  hostfs::remove(At("db/ZENFS"));
  const IOStatus refused = Write("db/g", "x");
  ASSERT_FALSE(refused.ok());
  ASSERT_FALSE(refused.GetRetryable());  // or closing waits for ever for the recovery of the next flush
  EXPECT_FALSE(db->Flush({}).ok());
  db.reset();
  EXPECT_EQ(Get(*OpenDb("db"), "k"), "NotFound: ");
}

TEST_F(DefaultDatabaseTest, LogsInADirectoryOfTheirOwnAreInTheVolumeToo) {
  rocksdb::Options options = Options();
  options.wal_dir = At("logs");
  rocksdb::DB* opened = nullptr;
  ASSERT_STATUS_OK(rocksdb::DB::Open(options, At("db"), &opened));
  ASSERT_STATUS_OK(opened->Put({}, "k", "v"));
  delete opened;
  EXPECT_THAT(OnHost("logs"), ElementsAre("ZENFS"));
  ASSERT_STATUS_OK(rocksdb::DB::Open(options, At("db"), &opened));
  EXPECT_EQ(Get(*opened, "k"), "v");
  delete opened;
}

}  // namespace
}  // namespace zenfs::default_database_test
