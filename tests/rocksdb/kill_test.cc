// kill -9 of a process that writes, with sync and without, then the next, and so on: every key that it acknowledged is
// there afterwards, with its value. Without sync too, because RocksDB flushes each write to its WAL, and what was flushed
// survives the process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "kill_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "test_volume.h"
#include "writer_process.h"

namespace zenfs {
namespace {

// Runs the writer from key `first` on, kills it once it has acknowledged `kill_after` keys, and returns the
// last number that it acknowledged (first - 1 if none).
long WriteAndKill(const char* writer, const std::string& uri, const char* mode, long first, long kill_after) {
  WriterProcess process(writer, uri, first, mode);
  EXPECT_TRUE(process.WaitFor(first + kill_after) && process.Kill())
      << "the writer ended by itself, see its message above";
  return process.acknowledged();
}

// Checks all keys up to `last`, and returns the last key that is there (one more may be: written, not yet
// told).
long VerifyUpTo(const TestVolume& volume, long last) {
  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  rocksdb::Status status =
      rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume.uri(), &env, &guard);
  EXPECT_STATUS_OK(status);
  rocksdb::DB* raw = nullptr;
  if (status.ok()) status = rocksdb::DB::Open(KillOptions(env), "/db", &raw);
  EXPECT_STATUS_OK(status);
  if (!status.ok()) return -1;
  const std::unique_ptr<rocksdb::DB> db(raw);
  EXPECT_STATUS_OK(db->VerifyChecksum());
  std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(rocksdb::ReadOptions()));
  long number = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++number) {
    EXPECT_EQ(iterator->key().ToString(), KillKey(number)) << "a key is missing";
    EXPECT_EQ(iterator->value().ToString(), KillValue(number));
    if (::testing::Test::HasFailure()) return -1;
  }
  EXPECT_STATUS_OK(iterator->status());
  EXPECT_GT(number, last) << "acknowledged keys are lost";
  return number - 1;
}

void KillAgainAndAgain(const TestVolume& volume, const char* mode, int kills) {
  const char* writer = std::getenv("ZENFS_KILL_WRITER");
  if (writer == nullptr) GTEST_SKIP() << "ZENFS_KILL_WRITER does not name the writer; run this through ctest";
  const char* seed_text = std::getenv("ZENFS_TEST_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : RandomSeed();
  SCOPED_TRACE("ZENFS_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  long next = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    SCOPED_TRACE("kill " + std::to_string(kill_number));
    const long acknowledged =
        WriteAndKill(writer, volume.uri(), mode, next, static_cast<long>(random.Below(600)));
    if (testing::Test::HasFailure()) return;
    const long last = VerifyUpTo(volume, acknowledged);
    if (testing::Test::HasFailure()) return;
    EXPECT_TRUE(volume.CheckIsClean());
    next = last + 1;
  }
}

bool IsFullRun() {
  const char* const full = std::getenv("ZENFS_FULL");
  return full != nullptr && *full == '1';
}

TEST(Kill, EverySyncedKeySurvives) { KillAgainAndAgain(TestVolume(), "sync", IsFullRun() ? 400 : 40); }

TEST(Kill, EverySyncedKeySurvivesWithLogsOnASecondDevice) {
  KillAgainAndAgain(TestVolume(TestVolume::LogDevice()), "sync", IsFullRun() ? 200 : 20);
}

// D7 of docs/internals/failures.md.
TEST(Kill, EveryKeyThatWasNotSyncedSurvivesTheProcess) {
  KillAgainAndAgain(TestVolume(), "flush", IsFullRun() ? 1000 : 60);
}

TEST(Kill, EveryKeyThatWasNotSyncedSurvivesWithLogsOnASecondDevice) {
  KillAgainAndAgain(TestVolume(TestVolume::LogDevice()), "flush", IsFullRun() ? 300 : 20);
}

}  // namespace
}  // namespace zenfs
