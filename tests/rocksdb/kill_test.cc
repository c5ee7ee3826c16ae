// kill -9 of a process that writes with sync: every key that it acknowledged is there afterwards, with its
// value.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/random.h"
#include "base/unique_fd.h"
#include "kill_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "test_volume.h"

extern char** environ;

namespace zenfs {
namespace {

// The number on the last whole line, or `none`.
long LastLine(const std::string& output, long none) {
  const std::size_t end = output.rfind('\n');
  if (end == std::string::npos) return none;
  const std::size_t before = end == 0 ? std::string::npos : output.rfind('\n', end - 1);
  return std::atol(output.c_str() + (before == std::string::npos ? 0 : before + 1));
}

// Runs the writer from key `first` on, kills it once it has acknowledged `kill_after` keys, and returns the
// last number that it acknowledged (first - 1 if none).
long WriteAndKill(const char* writer, const std::string& uri, long first, long kill_after) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string name = writer, argument = uri, number = std::to_string(first);
  char* const arguments[] = {name.data(), argument.data(), number.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, writer, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[4096];
  bool killed = false;
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(n));
    if (!killed && LastLine(output, first - 1) >= first + kill_after) {
      kill(child, SIGKILL);
      killed = true;
    }
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(killed && WIFSIGNALED(status)) << "the writer ended by itself, see its message above";
  return LastLine(output, first - 1);
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

TEST(Kill, EveryAcknowledgedKeySurvives) {
  const char* writer = std::getenv("ZENFS_KILL_WRITER");
  if (writer == nullptr) GTEST_SKIP() << "ZENFS_KILL_WRITER does not name the writer; run this through ctest";
  const char* seed_text = std::getenv("ZENFS_TEST_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : RandomSeed();
  SCOPED_TRACE("ZENFS_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const TestVolume volume;
  long next = 0;
  for (int kill_number = 0; kill_number < 40; ++kill_number) {
    SCOPED_TRACE("kill " + std::to_string(kill_number));
    const long acknowledged = WriteAndKill(writer, volume.uri(), next, static_cast<long>(random.Below(600)));
    if (HasFailure()) return;
    const long last = VerifyUpTo(volume, acknowledged);
    if (HasFailure()) return;
    EXPECT_TRUE(volume.CheckIsClean());
    next = last + 1;
  }
}

}  // namespace
}  // namespace zenfs
