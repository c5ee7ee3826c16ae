// Databases on a device that fails: what RocksDB is told, and how it goes on.
#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_manager.h"
#include "rocksdb_plugin/zenfs_file_system.h"
#include "test_volume.h"
#include "testing/faulty_device.h"
#include "testing/small_tmpfs.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

// Remembers what was acknowledged: each of those writes must be there, whatever happened since.
class FaultyDatabase : public ::testing::Test {
 protected:
  void SetUp() override {
    MountVolume();
    OpenDatabase();
  }
  void TearDown() override {
    db_.reset();
    Unmount();
    EXPECT_TRUE(volume_.CheckIsClean());
  }

  void MountVolume() {
    auto emulated = OpenEmulatedFile(volume_.device_path(), OpenMode::kExclusive);
    ASSERT_TRUE(emulated) << emulated.error().ToString();
    auto device = std::make_unique<FaultyDevice>(*std::move(emulated));
    device_ = device.get();
    MountOptions options;
    options.flush_directory = "none";
    auto mounted = Volume::Mount(std::move(device), options);
    ASSERT_TRUE(mounted) << mounted.error().ToString();
    mounted_ = *std::move(mounted);
    env_ = rocksdb::NewCompositeEnv(std::make_shared<ZenFileSystem>(volume_.uri(), mounted_));
  }
  void Unmount() {
    env_.reset();
    mounted_.reset();
    device_ = nullptr;
  }
  void OpenDatabase() {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.write_buffer_size = 1 << 20;
    options.target_file_size_base = 1 << 20;
    options.level0_file_num_compaction_trigger = 4;
    options.compression = rocksdb::kNoCompression;
    options.max_bgerror_resume_count = resumes_by_itself_;
    options.bgerror_resume_retry_interval = 10'000;  // microseconds
    options.sst_file_manager = space_guard_;
    rocksdb::DB* db = nullptr;
    ASSERT_STATUS_OK(rocksdb::DB::Open(options, "db", &db));
    db_.reset(db);
  }
  void Reopen() {
    db_.reset();
    Unmount();
    MountVolume();
    OpenDatabase();
  }

  rocksdb::Status Put(int i) {
    rocksdb::WriteOptions options;
    options.sync = true;
    const std::string value = RandomBytes(2000, ++version_);
    const rocksdb::Status put = db_->Put(options, KeyOf(i), value);
    if (put.ok()) {
      acknowledged_[i] = value;
    } else {
      doubtful_[i].push_back(value);
    }
    return put;
  }
  void PutAll(int first, int last) {
    for (int i = first; i < last; ++i) ASSERT_STATUS_OK(Put(i));
  }
  void ExpectAllThere() {
    for (const auto& [i, expected] : acknowledged_) {
      std::string value;
      ASSERT_STATUS_OK(db_->Get(rocksdb::ReadOptions(), KeyOf(i), &value)) << i;
      bool right = value == expected;
      for (const std::string& doubtful : doubtful_[i]) right = right || value == doubtful;
      EXPECT_TRUE(right) << KeyOf(i);
    }
  }
  void FailWritesTo(std::initializer_list<ZonePhase> phases) {
    for (const ZoneStatus& zone : mounted_->Zones()) {
      if (std::ranges::find(phases, zone.phase) == phases.end()) continue;
      device_->Inject({.command = Command::kWrite, .times = FaultyDevice::kForEver, .zone = zone.id});
    }
  }
  // The volume stays mounted.
  void ExpectOpeningAnewBringsAllBack() {
    device_->ClearFaults();
    db_.reset();
    OpenDatabase();
    ExpectAllThere();
    PutAll(900, 1000);
    Reopen();
    ExpectAllThere();
  }
  void ExpectResumeBringsAllBack() {
    device_->ClearFaults();
    ASSERT_STATUS_OK(db_->Resume());
    ExpectAllThere();
    PutAll(900, 1000);
    ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
    Reopen();
    ExpectAllThere();
  }

  TestVolume volume_;
  FaultyDevice* device_ = nullptr;  // the mounted volume's
  std::shared_ptr<Volume> mounted_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<int, std::string> acknowledged_;
  std::map<int, std::vector<std::string>> doubtful_;  // refused, and perhaps there all the same
  std::uint64_t version_ = 0;
  int resumes_by_itself_ = 0;  // else the tests call Resume themselves
  std::shared_ptr<rocksdb::SstFileManager> space_guard_;
};

TEST_F(FaultyDatabase, FlushThatFailsIsMadeUpForByResume) {
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kActive});
  EXPECT_TRUE(db_->Flush(rocksdb::FlushOptions()).IsIOError());
  ExpectAllThere();
  ExpectResumeBringsAllBack();
}

TEST_F(FaultyDatabase, CompactionThatFailsIsMadeUpForByResume) {
  for (int round = 0; round < 3; ++round) {
    PutAll(0, 200);
    ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  }
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kActive});
  EXPECT_FALSE(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  ExpectAllThere();
  ExpectResumeBringsAllBack();
}

TEST_F(FaultyDatabase, WalThatNoZoneTakesIsMadeUpForByResume) {
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kLog});
  EXPECT_TRUE(Put(1).IsIOError());
  EXPECT_FALSE(Put(2).ok());
  EXPECT_FALSE(db_->Resume().ok()) << "while the device is as it was";
  ExpectAllThere();
  ExpectResumeBringsAllBack();
}

TEST_F(FaultyDatabase, WalThatNoZoneTakesIsMadeUpForByOpeningAnewToo) {
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kLog});
  EXPECT_TRUE(Put(1).IsIOError());
  ExpectOpeningAnewBringsAllBack();
}

// The first column family that Resume flushes may only be flushed if the log, which holds writes of the others, is synced.
TEST_F(FaultyDatabase, WalOfSeveralColumnFamiliesIsMadeUpForByResume) {
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_STATUS_OK(db_->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "other", &other));
  const auto put_other = [&](int i) {
    rocksdb::WriteOptions options;
    options.sync = true;
    return db_->Put(options, other, KeyOf(i), "of another");
  };
  for (int i = 0; i < 100; ++i) ASSERT_STATUS_OK(put_other(i));
  PutAll(0, 100);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kLog});
  EXPECT_TRUE(put_other(100).IsIOError());
  device_->ClearFaults();
  ASSERT_STATUS_OK(db_->Resume());
  ASSERT_STATUS_OK(put_other(101));
  ExpectAllThere();
  PutAll(100, 200);
  for (const int i : {0, 99, 101}) {
    std::string value;
    EXPECT_STATUS_OK(db_->Get(rocksdb::ReadOptions(), other, KeyOf(i), &value)) << i;
  }
  ASSERT_STATUS_OK(db_->DropColumnFamily(other));
  ASSERT_STATUS_OK(db_->DestroyColumnFamilyHandle(other));
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, WalThatNoZoneTakesIsMadeUpForByRocksDbItself) {
  resumes_by_itself_ = 1'000'000;
  Reopen();
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kLog});
  EXPECT_TRUE(Put(1).IsIOError());
  device_->ClearFaults();
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  while (!Put(2).ok()) ASSERT_FALSE(deadline.Passed());
  ExpectAllThere();
  PutAll(900, 1000);
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, WritesBehindAResumeAreThereThoughTheyAreInNoTableYet) {
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kEmpty, ZonePhase::kLog});
  EXPECT_TRUE(Put(1).IsIOError());
  device_->ClearFaults();
  ASSERT_STATUS_OK(db_->Resume());
  PutAll(900, 950);
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, WalZoneThatFailsIsNotNoticed) {
  PutAll(0, 100);
  for (const ZoneStatus& zone : mounted_->Zones()) {
    if (zone.phase == ZonePhase::kLog) {
      device_->Inject({.command = Command::kWrite, .times = 1, .zone = zone.id});
      break;
    }
  }
  PutAll(100, 300);
  ExpectAllThere();
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, SyncWhoseCacheFlushFailedIsNotAcknowledged) {
  PutAll(0, 300);
  device_->Inject({.command = Command::kFlush});
  EXPECT_TRUE(Put(1).IsIOError());
  EXPECT_FALSE(Put(1).ok()) << "not by trying again, though that flush would succeed";
  ExpectResumeBringsAllBack();
}

TEST_F(FaultyDatabase, MetadataZoneThatFailsCostsNothingThatWasAcknowledged) {
  PutAll(0, 300);
  // Those that a commit is written to.
  const std::vector<ZoneId>& zones = mounted_->info().superblock.metadata_zones;
  const auto written = [&](ZoneId zone) { return device_->ReportZone(zone)->WrittenBytes(); };
  std::map<ZoneId, std::uint64_t> before;
  for (const ZoneId zone : zones) before[zone] = written(zone);
  ASSERT_TRUE(mounted_->MakeDirectory("made", false).ok());
  for (const ZoneId zone : zones) {
    if (written(zone) != before[zone]) device_->Inject({.command = Command::kWrite, .zone = zone});
  }
  EXPECT_TRUE(db_->Flush(rocksdb::FlushOptions()).IsIOError()) << "its commit is refused";
  ExpectAllThere();
  ExpectResumeBringsAllBack();
}

TEST_F(FaultyDatabase, ReadsThatFailOnceInAWhileAreNotNoticed) {
  for (std::uint64_t kth = 3; kth < 3000; kth += 10) device_->Inject({.command = Command::kRead, .kth = kth});
  for (int round = 0; round < 4; ++round) {
    PutAll(0, 200);
    ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  }
  ASSERT_STATUS_OK(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  ExpectAllThere();
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, UnreadableBlockCostsOnlyItsKeys) {
  PutAll(0, 100);
  ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  PutAll(200, 300);
  ASSERT_STATUS_OK(db_->Flush(rocksdb::FlushOptions()));
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 2u);
  const auto& lost = files[0].smallestkey == KeyOf(0) ? files[0] : files[1];
  const auto layout = mounted_->Layout("db" + lost.name);
  ASSERT_TRUE(layout);
  const DeviceOffset from = layout->extents.front().place;
  device_->Inject({.command = Command::kRead,
                   .times = FaultyDevice::kForEver,
                   .bytes = FaultyDevice::Bytes{from, from + 64 * 1024}});
  std::string value;
  const rocksdb::Status got = db_->Get(rocksdb::ReadOptions(), KeyOf(0), &value);
  EXPECT_TRUE(got.IsIOError());
  EXPECT_NE(got.ToString().find(lost.name), std::string::npos) << got.ToString();
  EXPECT_NE(got.ToString().find("zone"), std::string::npos) << got.ToString();
  for (int i = 200; i < 300; ++i) EXPECT_STATUS_OK(db_->Get(rocksdb::ReadOptions(), KeyOf(i), &value));
  PutAll(300, 400);
  device_->ClearFaults();
}

// What is read too early must not fail what was asked for.
TEST_F(FaultyDatabase, ADamagedPlaceAheadOfASequentialReadDoesNotFailIt) {
  rocksdb::FileSystem& fs = *env_->GetFileSystem();
  const std::string bytes = RandomBytes(600'000, 5);
  ASSERT_STATUS_OK(WriteWhole(fs, "/db/a.sst", bytes));
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_STATUS_OK(fs.NewSequentialFile("/db/a.sst", FileOptions(), &file, nullptr));
  const auto layout = mounted_->Layout("/db/a.sst");
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->extents.size(), 1u);
  const DeviceOffset damaged = layout->extents.front().place + 256 * 1024;
  device_->Inject({.command = Command::kRead,
                   .times = FaultyDevice::kForEver,
                   .bytes = FaultyDevice::Bytes{damaged, damaged + 4096}});
  std::string scratch(100'000, '\0');
  Slice piece;
  for (std::size_t at = 0; at < 200'000; at += piece.size()) {
    ASSERT_STATUS_OK(file->Read(scratch.size(), rocksdb::IOOptions(), &piece, scratch.data(), nullptr));
    EXPECT_EQ(piece.ToString(), bytes.substr(at, scratch.size()));
  }
  EXPECT_TRUE(file->Read(scratch.size(), rocksdb::IOOptions(), &piece, scratch.data(), nullptr).IsIOError());
  device_->ClearFaults();
}

// RocksDB replays a WAL in pieces of 32 KiB; the device is asked for more at a time.
TEST_F(FaultyDatabase, SequentialReadsCostFewReadsOfTheDevice) {
  rocksdb::FileSystem& fs = *env_->GetFileSystem();
  const std::string bytes = RandomBytes(3'000'000, 6);
  ASSERT_STATUS_OK(WriteWhole(fs, "/db/b.log", bytes, /*sync=*/true));
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_STATUS_OK(fs.NewSequentialFile("/db/b.log", FileOptions(), &file, nullptr));
  const std::uint64_t before = device_->count(Command::kRead);
  std::string scratch(32 << 10, '\0');
  std::string got;
  for (Slice piece("begin"); !piece.empty();) {
    ASSERT_STATUS_OK(file->Read(scratch.size(), rocksdb::IOOptions(), &piece, scratch.data(), nullptr));
    got.append(piece.data(), piece.size());
  }
  EXPECT_EQ(got, bytes);
  EXPECT_LE(device_->count(Command::kRead) - before, 8u);
}

// The volume is read-only from then on, and mounted: what was acknowledged can be read, there and by a later mount.
TEST_F(FaultyDatabase, WithoutAMetadataZoneLeftAllThatWasAcknowledgedCanBeRead) {
  PutAll(0, 300);
  FailWritesTo({ZonePhase::kMetadata});
  EXPECT_TRUE(db_->Flush(rocksdb::FlushOptions()).IsIOError());
  ExpectAllThere();
  device_->ClearFaults();
  EXPECT_FALSE(db_->Resume().ok()) << "nothing can be committed before another mount";
  EXPECT_FALSE(mounted_->health().ok());
  ExpectAllThere();
  Reopen();
  ExpectAllThere();
  PutAll(900, 1000);
  Reopen();
  ExpectAllThere();
}

// S2 of docs/internals/failures.md: the guard resumes once there is more free space than its buffer.
TEST_F(FaultyDatabase, RocksDbsGuardOfSpaceResumesOnceThereIsRoom) {
  rocksdb::Status status;
  space_guard_.reset(rocksdb::NewSstFileManager(env_.get(), nullptr, "", 0, true, &status));
  ASSERT_STATUS_OK(status);
  db_.reset();
  OpenDatabase();
  std::uint64_t free = 0;
  ASSERT_STATUS_OK(env_->GetFreeSpace("/", &free));
  constexpr std::uint64_t kLeft = 48 << 20;
  ASSERT_GT(free, kLeft);
  ASSERT_STATUS_OK(rocksdb::WriteStringToFile(env_.get(), RandomBytes(free - kLeft, 1), "/ballast", true));
  int i = 0;
  while ((status = Put(i)).ok()) ASSERT_LT(++i, 100'000);
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  ASSERT_STATUS_OK(env_->GetFreeSpace("/", &free));
  EXPECT_LT(free, 4u << 20) << "nobody got that";
  ExpectAllThere();
  ASSERT_STATUS_OK(env_->DeleteFile("/ballast"));
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  while (!Put(0).ok()) ASSERT_FALSE(deadline.Passed());
  PutAll(i, i + 1000);
  ExpectAllThere();
  db_.reset();
  space_guard_.reset();  // before the environment that it works in
  Reopen();
  ExpectAllThere();
}

TEST_F(FaultyDatabase, DeviceThatIsGoneHoldsNobodyUp) {
  PutAll(0, 300);
  device_->Unplug();
  const SteadyTime begin = SteadyNow();
  EXPECT_FALSE(Put(0).ok());
  EXPECT_FALSE(db_->Flush(rocksdb::FlushOptions()).ok());
  EXPECT_FALSE(db_->Resume().ok());
  db_->Close().PermitUncheckedError();
  db_.reset();
  Unmount();
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(30));
  MountVolume();  // it is back
  OpenDatabase();
  ExpectAllThere();
}

// The first write that fails may be one of the log or one of the metadata.
TEST(FullHost, IsNamedAndADatabaseGoesOnAfterTheNextMount) {
  const SmallTmpfs host(32u << 20);
  if (!host.mounted()) GTEST_SKIP() << "this process may not mount a tmpfs: run it as root";
  const std::string path = host.File("device.img");
  ASSERT_TRUE(CreateEmulatedFile(path, EmulatorGeometry{}, false).ok());
  ASSERT_TRUE(FormatVolume(*OpenEmulatedFile(path, OpenMode::kExclusive).value(), {}));
  const auto mount = [&] {
    MountOptions options;
    options.flush_directory = "none";
    auto volume = Volume::Mount(OpenEmulatedFile(path, OpenMode::kExclusive).value(), options);
    EXPECT_TRUE(volume) << volume.error().ToString();
    return rocksdb::NewCompositeEnv(
        std::make_shared<ZenFileSystem>("zenfs://emu:" + path, *std::move(volume)));
  };
  const auto open = [](rocksdb::Env& env) {
    rocksdb::Options options;
    options.env = &env;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    EXPECT_STATUS_OK(rocksdb::DB::Open(options, "db", &db));
    return std::unique_ptr<rocksdb::DB>(db);
  };
  rocksdb::WriteOptions synced;
  synced.sync = true;
  auto env = mount();
  auto db = open(*env);
  ASSERT_STATUS_OK(db->Put(synced, "before", "1"));
  host.FillUp();
  const std::string full = db->Put(synced, "lost", std::string(1 << 20, 'x')).ToString();
  EXPECT_NE(full.find(path), std::string::npos) << full;
  EXPECT_NE(full.find("the host has no space for this emulated device"), std::string::npos) << full;
  db.reset();
  env.reset();
  host.MakeRoom();
  env = mount();
  db = open(*env);
  std::string value;
  EXPECT_STATUS_OK(db->Get({}, "before", &value));
  EXPECT_STATUS_OK(db->Put(synced, "after", "1"));
}

}  // namespace
}  // namespace zenfs
