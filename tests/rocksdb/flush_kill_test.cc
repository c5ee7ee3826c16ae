// kill -9 of a process that flushed files of every kind, on ZenFS and on RocksDB's own file system: what is there
// afterwards on POSIX is there on ZenFS.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <set>

#include "flush_files.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "test_volume.h"

extern char** environ;

namespace zenfs {
namespace {

using Files = std::map<std::string, std::string>;  // by path

class FlushKillTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const writer = std::getenv("ZENFS_FLUSH_WRITER");
    if (writer == nullptr)
      GTEST_SKIP() << "ZENFS_FLUSH_WRITER does not name the writer; run this through ctest";
    writer_ = writer;
  }

  // Returns when the writer has killed itself.
  void Run(const std::string& uri, const std::string& root, std::string what) {
    std::string program = writer_, where = uri, directory = root;
    char* const arguments[] = {program.data(), where.data(), directory.data(), what.data(), nullptr};
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, writer_.c_str(), nullptr, nullptr, arguments, environ), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "see its message above";
  }
  void RunOnBoth(const std::string& what) {
    Run("posix", PosixRoot(), what);
    if (!HasFailure()) Run(volume_.uri(), "/root", what);
  }
  // A backup names tables by the session that wrote them: 000014_sYMXVNH3XHNZI4EFCHD5Q_614548.sst.
  static std::string WithoutSession(const std::string& name) {
    const std::size_t first = name.find('_');
    const std::size_t last = name.rfind('_');
    return last - first == 22 ? name.substr(0, first) + name.substr(last) : name;
  }
  std::string PosixRoot() const { return volume_.directory() + "/posix"; }

  static void Collect(rocksdb::FileSystem& fs, const std::string& directory, const std::string& prefix,
                      Files& files) {
    std::vector<std::string> children;
    ASSERT_STATUS_OK(fs.GetChildren(directory, kIo, &children, nullptr));
    for (const std::string& child : children) {
      const std::string path = directory + "/" + child;
      bool is_directory = false;
      ASSERT_STATUS_OK(fs.IsDirectory(path, kIo, &is_directory, nullptr));
      if (is_directory) {
        Collect(fs, path, prefix + child + "/", files);
      } else {
        files[prefix + WithoutSession(child)] = ReadWhole(fs, path);
      }
    }
  }

  std::string writer_;
  const TestVolume volume_{
      {.zones = 64, .zone_size = 16 << 20, .zone_capacity = 12 << 20, .max_open = 14, .max_active = 14}};
};

TEST_F(FlushKillTest, FlushedFilesOfAllKindsAreAsOnPosix) {
  RunOnBoth("files");
  if (HasFailure()) return;
  Files posix;
  Collect(*rocksdb::FileSystem::Default(), PosixRoot(), "", posix);
  Files found;
  const auto fs = volume_.Open();
  ASSERT_NE(fs, nullptr);
  Collect(*fs, "/root", "", found);
  EXPECT_EQ(found.size(), FlushedFiles().size());
  for (const FlushedFile& file : FlushedFiles()) {
    EXPECT_TRUE(posix[file.name] == file.Content()) << file.name << " on POSIX";
    EXPECT_TRUE(found[file.name] == posix[file.name])
        << file.name << ": " << found[file.name].size() << " of " << posix[file.name].size() << " bytes";
  }
}

// Sizes may differ by what depends on paths and times.
TEST_F(FlushKillTest, FilesOfADatabaseItsTracesAndBackupsAreAsOnPosix) {
  RunOnBoth("database");
  if (HasFailure()) return;
  Files posix;
  Collect(*rocksdb::FileSystem::Default(), PosixRoot(), "", posix);
  Files found;
  {
    const auto fs = volume_.Open();
    ASSERT_NE(fs, nullptr);
    Collect(*fs, "/root", "", found);
  }
  std::set<std::string> kinds;
  for (const auto& [path, content] : posix) {
    kinds.insert(path.substr(path.rfind('.') == std::string::npos ? path.size() : path.rfind('.')));
    if (content.empty()) continue;  // created and not flushed
    ASSERT_TRUE(found.contains(path)) << path << ", of " << content.size() << " bytes";
    EXPECT_GE(found[path].size() * 20, content.size() * 19) << path;
  }
  for (const char* const kind : {".sst", ".blob", ".log", ".trash"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  EXPECT_GT(posix["trace"].size(), 1'000'000u);

  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  ASSERT_STATUS_OK(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", volume_.uri(), &env, &guard));
  rocksdb::Options options;
  options.env = env;
  rocksdb::DB* raw = nullptr;
  ASSERT_STATUS_OK(rocksdb::DB::Open(options, "/root/db", &raw));
  const std::unique_ptr<rocksdb::DB> db(raw);
  std::string value;
  for (long i = 0; i < kFlushedKeys; ++i) {
    ASSERT_STATUS_OK(db->Get({}, FlushedKey(i), &value)) << i;
    ASSERT_EQ(value, FlushedValue(i));
  }
  EXPECT_STATUS_OK(db->VerifyChecksum());
}

}  // namespace
}  // namespace zenfs
