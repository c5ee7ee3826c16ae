// `zenfs backup` of a database that is being written, by way of a RocksDB checkpoint, and `zenfs restore` to a second
// device: what a user does who wants a consistent copy without stopping anything.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <limits>

#include "base/mutex.h"
#include "base/thread.h"
#include "kill_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/checkpoint.h"
#include "test_volume.h"

namespace zenfs {
namespace {

// A database on a volume, and nothing open when it is gone.
class OpenedDatabase {
 public:
  OpenedDatabase(const TestVolume& volume, const std::string& path) {
    rocksdb::Env* env = rocksdb::Env::Default();
    EXPECT_STATUS_OK(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume.uri(), &env, &guard_));
    rocksdb::DB* db = nullptr;
    EXPECT_STATUS_OK(rocksdb::DB::Open(KillOptions(env), path, &db));
    db_.reset(db);
  }
  rocksdb::DB* operator->() const { return db_.get(); }
  rocksdb::DB* get() const { return db_.get(); }

 private:
  std::shared_ptr<rocksdb::Env> guard_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Puts one key after another until told to stop.
class Writing {
 public:
  explicit Writing(rocksdb::DB* db) : db_(db), thread_("writing", [this] { Run(); }) {}
  ~Writing() { Stop(); }
  void Stop() {
    stop_ = true;
    thread_.Join();
  }
  long written() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return written_;
  }
  // False if a put failed before.
  [[nodiscard]] bool WaitFor(long count) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (written_ < count && !failed_) changed_.Wait(mutex_);
    return !failed_;
  }

 private:
  void Run() EXCLUDES(mutex_) {
    for (long i = 0; !stop_; ++i) {
      const rocksdb::Status put = db_->Put(rocksdb::WriteOptions(), KillKey(i), KillValue(i));
      EXPECT_STATUS_OK(put);
      const MutexLock lock(mutex_);
      failed_ = !put.ok();
      written_ += put.ok() ? 1 : 0;
      changed_.NotifyAll();
      if (failed_) return;
    }
  }

  rocksdb::DB* const db_;
  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool failed_ GUARDED_BY(mutex_) = false;
  long written_ GUARDED_BY(mutex_) = 0;
  Thread thread_;
};

// How many of the keys 0, 1, 2, ... there are. All values must be right, and no other key be there.
long KeysOf(rocksdb::DB& db) {
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(read));
  long count = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next(), ++count) {
    EXPECT_EQ(at->key(), KillKey(count));
    EXPECT_EQ(at->value(), KillValue(count));
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_STATUS_OK(at->status());
  return count;
}

// With 0 the checkpoint flushes first and has tables only; with the maximum it never does and has the logs.
class LiveBackup : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    program_ = std::getenv("ZENFS");
    if (program_ == nullptr) GTEST_SKIP() << "ZENFS does not name the command; run this through ctest";
  }
  void Command(const std::string& words) const {
    const std::string line = std::string(program_) + " " + words + " >/dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0) << line;  // NOLINT(cert-env33-c): paths of our own
  }

  const char* program_ = nullptr;
  TestVolume volume_;
  TestVolume second_;
};

TEST_P(LiveBackup, OfACheckpointRestoresToADatabaseThatOpensAndVerifies) {
  const std::string directory = volume_.directory() + "/backup";
  long at_checkpoint = 0, in_checkpoint = 0;
  {
    const OpenedDatabase db(volume_, "/db");
    Writing writing(db.get());
    ASSERT_TRUE(writing.WaitFor(5'000));

    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_STATUS_OK(rocksdb::Checkpoint::Create(db.get(), &raw));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    at_checkpoint = writing.written();
    ASSERT_STATUS_OK(checkpoint->CreateCheckpoint("/checkpoint", GetParam()));

    const long before = writing.written();
    Command("backup --emu=" + volume_.device_path() + " --backup_path=checkpoint --path=" + directory);
    ASSERT_TRUE(writing.WaitFor(before + 1));  // it went on
    writing.Stop();
    EXPECT_EQ(KeysOf(*db.get()), writing.written());
  }
  EXPECT_TRUE(volume_.CheckIsClean());
  in_checkpoint = KeysOf(*OpenedDatabase(volume_, "/checkpoint").get());

  Command("restore --emu=" + second_.device_path() + " --restore_path=restored --path=" + directory);
  {
    const OpenedDatabase restored(second_, "/restored");
    EXPECT_STATUS_OK(restored->VerifyChecksum());
    const long keys = KeysOf(*restored.get());
    EXPECT_GE(keys, at_checkpoint);
    EXPECT_EQ(keys, in_checkpoint);
  }
  EXPECT_TRUE(second_.CheckIsClean());
}

INSTANTIATE_TEST_SUITE_P(TablesOnly, LiveBackup, ::testing::Values(0));
INSTANTIATE_TEST_SUITE_P(WithLogs, LiveBackup, ::testing::Values(std::numeric_limits<std::uint64_t>::max()));

}  // namespace
}  // namespace zenfs
