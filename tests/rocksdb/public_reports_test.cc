// The configurations of public reports about the older ZenFS, scaled to seconds. In these reports writes failed with "no
// space" while zones were empty or held only garbage, waited too long, or took much more space than the data. The numbers
// are those of the issues of github.com/westerndigitalcorporation/zenfs. Each device has 14 open and active zones at most.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/thread.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_writer.h"
#include "test_volume.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

EmulatorGeometry Zones(std::uint32_t zones, std::uint64_t size, std::uint64_t capacity) {
  return {.zones = zones, .zone_size = size, .zone_capacity = capacity, .max_open = 14, .max_active = 14};
}

// With zeros in front.
std::string Digits(std::size_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}
std::string ReportKey(std::size_t number) { return Digits(number, 16); }

// Starts with the number and the version, so that no two writes have the same value.
std::string ReportValue(std::size_t number, std::uint32_t version, std::size_t bytes) {
  static const std::string pool = RandomBytes(1 << 20, 1);
  std::string value = Digits(number, 10) + " " + Digits(version, 6) + " ";
  const std::size_t from = (number * 7919 + version * 104729) % (pool.size() - bytes);
  value.append(pool, from, bytes - std::min(bytes, value.size()));
  return value;
}

// The databases of a report. They share the keys: key i is in database i modulo `databases`, and there in column family
// (i / databases) modulo `families`.
struct Report {
  EmulatorGeometry geometry;
  rocksdb::Options options;
  std::size_t keys = 0;
  std::size_t value_bytes = 0;
  std::size_t databases = 1;
  std::size_t families = 1;
  bool synced = false;
};

class PublicReports : public ::testing::Test {
 protected:
  struct Database {
    std::unique_ptr<rocksdb::DB> db;
    std::vector<rocksdb::ColumnFamilyHandle*> families;  // owned
  };

  void TearDown() override {
    CloseAll();
    env_ = nullptr;
    guard_.reset();  // unmounts
    if (volume_ != nullptr) {
      EXPECT_TRUE(volume_->CheckIsClean());
    }
  }

  void Begin(const Report& report) {
    report_ = report;
    report_.options.create_if_missing = true;
    report_.options.create_missing_column_families = true;
    report_.options.compression = rocksdb::kNoCompression;
    // Or a slow machine has more unsorted tables than these small devices have room for.
    report_.options.level0_slowdown_writes_trigger = 8;
    report_.options.level0_stop_writes_trigger = 12;
    versions_.assign(report.keys, 0);
    volume_ = std::make_unique<TestVolume>(report.geometry);
    ASSERT_NO_FATAL_FAILURE(Mount());
    ASSERT_STATUS_OK(env_->GetFreeSpace("/", &free_when_new_));
    for (std::size_t i = 0; i < report_.databases; ++i) ASSERT_NO_FATAL_FAILURE(OpenDatabase(i));
  }
  void Mount() {
    guard_.reset();
    env_ = rocksdb::Env::Default();
    ASSERT_STATUS_OK(
        rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_->uri(), &env_, &guard_));
    report_.options.env = env_;
  }
  static std::string PathOf(std::size_t database) { return "/db" + std::to_string(database); }
  void OpenDatabase(std::size_t number) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (std::size_t i = 0; i < report_.families; ++i) {
      families.emplace_back(i == 0 ? rocksdb::kDefaultColumnFamilyName : "family" + std::to_string(i),
                            report_.options);
    }
    rocksdb::DB* db = nullptr;
    Database opened;
    ASSERT_STATUS_OK(rocksdb::DB::Open(report_.options, PathOf(number), families, &opened.families, &db));
    opened.db.reset(db);
    databases_.push_back(std::move(opened));
  }
  void CloseAll() {
    for (Database& database : databases_) {
      for (auto* family : database.families) {
        EXPECT_STATUS_OK(database.db->DestroyColumnFamilyHandle(family));
      }
      EXPECT_STATUS_OK(database.db->Close());
    }
    databases_.clear();
  }

  Database& DatabaseOf(std::size_t key) { return databases_[key % report_.databases]; }
  std::size_t FamilyOf(std::size_t key) const { return key / report_.databases % report_.families; }

  // Safe from several threads with different keys.
  rocksdb::Status Put(std::size_t key) {
    rocksdb::WriteOptions options;
    options.sync = report_.synced;
    Database& database = DatabaseOf(key);
    const std::string value = ReportValue(key, versions_[key] + 1, report_.value_bytes);
    rocksdb::Status put = database.db->Put(options, database.families[FamilyOf(key)], ReportKey(key), value);
    if (put.ok()) ++versions_[key];
    return put;
  }
  void PutInOrder(std::size_t first, std::size_t last) {
    for (std::size_t key = first; key < last; ++key) ASSERT_STATUS_OK(Put(key)) << key;
  }
  // Thread t writes `writes` times to keys t, t + threads, ... below `last`, in random order.
  void PutAtRandom(std::size_t threads, std::size_t writes, std::size_t last) {
    std::vector<rocksdb::Status> ends(threads);
    std::vector<Thread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      running.emplace_back("writer", [this, thread, threads, writes, last, &end = ends[thread]] {
        Random random(thread);
        const std::size_t keys = (last - thread + threads - 1) / threads;
        for (std::size_t i = 0; i < writes && end.ok(); ++i) {
          end = Put(thread + random.Below(keys) * threads);
        }
      });
    }
    running.clear();  // joins
    for (const rocksdb::Status& end : ends) ASSERT_STATUS_OK(end);
  }

  // What was written is there after the next mount, no flush or compaction has failed, and all other space can be written.
  void ExpectEndOfTheReport() {
    for (Database& database : databases_) {
      std::uint64_t errors = 1;
      EXPECT_TRUE(database.db->GetIntProperty("rocksdb.background-errors", &errors));
      EXPECT_EQ(errors, 0u);
    }
    CloseAll();
    ASSERT_NO_FATAL_FAILURE(Mount());
    for (std::size_t i = 0; i < report_.databases; ++i) ASSERT_NO_FATAL_FAILURE(OpenDatabase(i));
    for (std::size_t i = 0; i < report_.databases; ++i) {
      for (std::size_t family = 0; family < report_.families; ++family) ExpectAllThere(i, family);
    }
    CloseAll();
    ASSERT_NO_FATAL_FAILURE(ExpectTheOtherSpaceCanBeWritten());
  }
  void ExpectAllThere(std::size_t number, std::size_t family) {
    SCOPED_TRACE("database " + std::to_string(number) + ", family " + std::to_string(family));
    rocksdb::ReadOptions read;
    read.verify_checksums = true;
    Database& database = databases_[number];
    std::unique_ptr<rocksdb::Iterator> found(database.db->NewIterator(read, database.families[family]));
    found->SeekToFirst();
    for (std::size_t key = number + family * report_.databases; key < report_.keys;
         key += report_.databases * report_.families) {
      if (versions_[key] == 0) continue;
      ASSERT_STATUS_OK(found->status());
      ASSERT_TRUE(found->Valid()) << "the last keys are missing, from " << key << " on";
      ASSERT_EQ(found->key().ToString(), ReportKey(key));
      ASSERT_EQ(found->value().ToString(), ReportValue(key, versions_[key], report_.value_bytes)) << key;
      found->Next();
    }
    ASSERT_STATUS_OK(found->status());
    ASSERT_FALSE(found->Valid()) << found->key().ToString() << " was not written";
  }
  // The databases must be closed.
  void ExpectTheOtherSpaceCanBeWritten() {
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < report_.databases; ++i) {
      std::vector<rocksdb::Env::FileAttributes> files;
      ASSERT_STATUS_OK(env_->GetChildrenFileAttributes(PathOf(i), &files));
      for (const auto& file : files) used += (file.size_bytes + 4095) / 4096 * 4096;
    }
    const std::uint64_t slack = 2 * report_.geometry.capacity();
    ASSERT_GT(free_when_new_, used + slack);
    const std::string piece = RandomBytes(kMiB, 2);
    const std::uint64_t rest = free_when_new_ - used - slack;
    // In files of 1 MiB: garbage beside the bytes of a file that is being written cannot be reclaimed.
    for (std::uint64_t at = 0; at < rest; at += piece.size()) {
      ASSERT_STATUS_OK(
          rocksdb::WriteStringToFile(env_, piece, "/rest" + std::to_string(at), /*should_sync=*/true))
          << at << " of " << rest << " bytes";
    }
  }

  Report report_;
  std::unique_ptr<TestVolume> volume_;
  rocksdb::Env* env_ = nullptr;
  std::shared_ptr<rocksdb::Env> guard_;
  std::vector<Database> databases_;
  std::vector<std::uint32_t> versions_;  // by key: how often it was written
  std::uint64_t free_when_new_ = 0;
};

std::string TablePath(std::size_t number) { return "/table" + std::to_string(number) + ".sst"; }

std::uint64_t RawCapacity(const EmulatorGeometry& geometry) { return geometry.zones * geometry.capacity(); }

// Issue 36: several logs at a time, three or four column families, synced writes of 8 KB, values apart from keys, and more
// than 14 files being written. Here six databases of four families with blob files, and 20 tables written side by side.
TEST_F(PublicReports, SixLogsManyFamiliesAndTwentyTablesAreWrittenSideBySide) {
  Report report{.geometry = Zones(64, 4 * kMiB, 3 * kMiB), .value_bytes = 8'000};
  report.databases = 6;
  report.families = 4;
  report.synced = true;
  report.options.write_buffer_size = 256 * kKiB;
  report.options.level0_file_num_compaction_trigger = 2;
  report.options.max_background_jobs = 16;
  report.options.enable_blob_files = true;
  report.options.enable_blob_garbage_collection = true;
  report.options.blob_garbage_collection_age_cutoff = 1.0;
  constexpr std::size_t kLooped = 4'800;
  constexpr std::size_t kTables = 20;
  constexpr std::size_t kRounds = 400;
  report.keys = kLooped + 24 * kRounds;
  ASSERT_NO_FATAL_FAILURE(Begin(report));
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0, kLooped / 2));
  std::vector<std::unique_ptr<rocksdb::SstFileWriter>> tables;
  for (std::size_t i = 0; i < kTables; ++i) {
    tables.push_back(std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), report_.options));
    ASSERT_STATUS_OK(tables[i]->Open(TablePath(i)));
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kTables; ++i) {
      const std::size_t key = kLooped + round * 24 + i;
      versions_[key] = 1;
      ASSERT_STATUS_OK(tables[i]->Put(ReportKey(key), ReportValue(key, 1, report.value_bytes)));
    }
    const std::size_t next = kLooped / 2 + round * (kLooped / 2 / kRounds);
    ASSERT_NO_FATAL_FAILURE(PutInOrder(next, next + kLooped / 2 / kRounds));
  }
  for (std::size_t i = 0; i < kTables; ++i) {
    ASSERT_STATUS_OK(tables[i]->Finish());
    Database& database = DatabaseOf(kLooped + i);
    rocksdb::IngestExternalFileOptions ingestion;
    ingestion.move_files = true;
    ASSERT_STATUS_OK(
        database.db->IngestExternalFile(database.families[FamilyOf(kLooped + i)], {TablePath(i)}, ingestion));
  }
  tables.clear();
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(4, 3'000, kLooped));
  ExpectEndOfTheReport();
}

// Issue 65: 32 threads, values of 128 bytes, 16 write buffers, 32 compactions, 16 flushes and 8 subcompactions; the device
// filled up far beyond the data. Here too the zones have half of their size as capacity.
TEST_F(PublicReports, ThirtyTwoThreadsOverwriteAndLeaveTheOtherSpaceWritable) {
  Report report{.geometry = Zones(64, 2 * kMiB, 1'076 * kKiB), .value_bytes = 128};
  report.options.write_buffer_size = 512 * kKiB;
  report.options.target_file_size_base = 512 * kKiB;
  report.options.max_bytes_for_level_base = 2 * kMiB;
  report.options.max_write_buffer_number = 16;
  report.options.max_background_compactions = 32;
  report.options.max_background_flushes = 16;
  report.options.max_subcompactions = 8;
  report.keys = 100'000;
  ASSERT_NO_FATAL_FAILURE(Begin(report));
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(32, report.keys / 32, report.keys));
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(32, 3 * report.keys / 32, report.keys));
  ExpectEndOfTheReport();
}

// Issue 271: 100 zones, tables of 1.9 zones, a write buffer of two, direct I/O, 8 background jobs; "no space" with dozens
// of empty zones.
TEST_F(PublicReports, TablesLargerThanAZoneAreOverwrittenWithoutNoSpace) {
  Report report{.geometry = Zones(100, kMiB, kMiB), .value_bytes = 800};
  report.options.target_file_size_base = kMiB * 19 / 10;
  report.options.write_buffer_size = 2 * kMiB;
  report.options.max_bytes_for_level_base = 8 * kMiB;
  report.options.max_bytes_for_level_multiplier = 4;
  report.options.max_background_jobs = 8;
  report.options.use_direct_reads = true;
  report.options.use_direct_io_for_flush_and_compaction = true;
  report.keys = 32'000;
  ASSERT_NO_FATAL_FAILURE(Begin(report));
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(1, 4 * report.keys, report.keys));
  ExpectEndOfTheReport();
}

// Issue 284: zones with a little less capacity than their size, filled in the order of keys. The target file size of 2 TB
// is that of issue 165: a compaction writes one table, here of two fifths of the device.
TEST_F(PublicReports, ATableOfDozensOfZonesIsWrittenBesideItsSources) {
  Report report{.geometry = Zones(64, 2 * kMiB, 2'000 * kKiB), .value_bytes = 800};
  report.options.target_file_size_base = std::uint64_t{2} << 40;
  report.options.write_buffer_size = 4 * kMiB;
  report.options.max_background_jobs = 8;
  report.keys = RawCapacity(report.geometry) * 43 / 100 / 830;
  ASSERT_NO_FATAL_FAILURE(Begin(report));
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0, report.keys));
  rocksdb::CompactRangeOptions whole;
  whole.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_STATUS_OK(databases_[0].db->CompactRange(whole, nullptr, nullptr));
  std::vector<rocksdb::LiveFileMetaData> files;
  databases_[0].db->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_GT(files[0].size, RawCapacity(report.geometry) * 41 / 100);
  ExpectEndOfTheReport();
}

// Issue 306: tables and write buffers of 800 KB, levels of 8 MB times 4, values of 120 bytes, data for three quarters of 32
// zones; "no space" with empty zones.
TEST_F(PublicReports, TablesOf800KilobytesFillThreeQuartersOfThirtyTwoZones) {
  Report report{.geometry = Zones(32, 4 * kMiB, 4 * kMiB), .value_bytes = 120};
  report.options.target_file_size_base = 800'000;
  report.options.write_buffer_size = 800'000;
  report.options.max_bytes_for_level_base = 8'000'000;
  report.options.max_bytes_for_level_multiplier = 4;
  report.options.use_direct_io_for_flush_and_compaction = true;
  report.keys = RawCapacity(report.geometry) * 75 / 100 / 136;
  ASSERT_NO_FATAL_FAILURE(Begin(report));
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(1, report.keys, report.keys));
  ExpectEndOfTheReport();
}

}  // namespace
}  // namespace zenfs
