// The ideal file system as RocksDB sees it, and that it takes the times of its drive.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ideal/file_system.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace zenfs {
namespace {

class IdealTest : public testing::Test {
 protected:
  IdealTest() : dir_(testing::TempDir() + "zenfs-ideal-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(dir_);
    Make("none");
  }
  ~IdealTest() override {
    fs_.reset();
    std::filesystem::remove_all(dir_);
  }

  void Make(const std::string& profile) {
    fs_.reset();
    auto made = IdealFileSystemOfUri("ideal://" + profile + "?" + dir_ + "/counters");
    ASSERT_TRUE(made.has_value()) << made.error().ToString();
    fs_ = *std::move(made);
  }
  nlohmann::json Counters() {
    fs_.reset();
    return nlohmann::json::parse(std::ifstream(dir_ + "/counters"));
  }
  std::unique_ptr<rocksdb::FSWritableFile> Created(const std::string& name, const FileOptions& options = {}) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(fs_->NewWritableFile(dir_ + "/" + name, options, &file, nullptr).ok());
    return file;
  }
  std::unique_ptr<rocksdb::FSRandomAccessFile> Opened(const std::string& name,
                                                      const FileOptions& options = {}) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_TRUE(fs_->NewRandomAccessFile(dir_ + "/" + name, options, &file, nullptr).ok());
    return file;
  }
  static FileOptions Direct() {
    FileOptions options;
    options.use_direct_reads = true;
    return options;
  }
  std::string Content(const std::string& name, uint64_t offset = 0, size_t n = 1 << 20) {
    std::string scratch(n, '?');
    Slice result;
    EXPECT_TRUE(Opened(name)->Read(offset, n, IOOptions(), &result, scratch.data(), nullptr).ok());
    return result.ToString();
  }
  uint64_t Size(const std::string& name) {
    uint64_t size = 0;
    EXPECT_TRUE(fs_->GetFileSize(dir_ + "/" + name, IOOptions(), &size, nullptr).ok());
    return size;
  }
  void Put(const std::string& name, const std::string& content) {
    const auto file = Created(name);
    ASSERT_TRUE(file->Append(content, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }

  const std::string dir_;
  std::unique_ptr<rocksdb::FileSystem> fs_;
};

TEST_F(IdealTest, ReadersSeeWhatIsAppendedAndNoMore) {
  const auto file = Created("1.log");
  ASSERT_TRUE(file->Append("hello ", IOOptions(), nullptr).ok());
  const auto reader = Opened("1.log");
  ASSERT_TRUE(file->Append("world", IOOptions(), nullptr).ok());
  std::string scratch(100, '?');
  Slice result;
  ASSERT_TRUE(reader->Read(0, 100, IOOptions(), &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result.ToString(), "hello world");
  EXPECT_EQ(Size("1.log"), 11u);
  EXPECT_EQ(Content("1.log", 6, 3), "wor");
  EXPECT_EQ(Content("1.log", 11), "");
  EXPECT_EQ(file->GetFileSize(IOOptions(), nullptr), 11u);
}

TEST_F(IdealTest, AClosedFileIsExactOnTheHost) {
  Put("a.sst", std::string(100'000, 'a') + "end");
  EXPECT_EQ(std::filesystem::file_size(dir_ + "/a.sst"), 100'003u);
  Put("b.sst", "short");
  EXPECT_EQ(std::filesystem::file_size(dir_ + "/b.sst"), 5u);
}

TEST_F(IdealTest, DirectWritersWriteTheLastPageAgain) {
  FileOptions options;
  options.use_direct_writes = true;
  const auto file = Created("a.sst", options);
  ASSERT_TRUE(file->use_direct_io());
  const std::string page(4096, 'p');
  ASSERT_TRUE(file->PositionedAppend(page + std::string(4096, '\0'), 0, IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->PositionedAppend("tail" + std::string(4092, '\0'), 4096, IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Truncate(4100, IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  EXPECT_EQ(Content("a.sst"), page + "tail");
  EXPECT_TRUE(file->PositionedAppend("x", 9000, IOOptions(), nullptr).IsInvalidArgument());
}

TEST_F(IdealTest, ReopenKeepsAndReplaceForgets) {
  Put("1.log", "first");
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(fs_->ReopenWritableFile(dir_ + "/1.log", FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(file->Append(" second", IOOptions(), nullptr).ok());
  file.reset();
  EXPECT_EQ(Content("1.log"), "first second");
  const auto old = Opened("1.log");
  Put("1.log", "new");
  EXPECT_EQ(Content("1.log"), "new");
  std::string scratch(100, '?');
  Slice result;
  ASSERT_TRUE(old->Read(0, 100, IOOptions(), &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result.ToString(), "first second") << "who has it open goes on reading it";
}

TEST_F(IdealTest, MissingFilesAreToldAsRocksDbWantsIt) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  EXPECT_TRUE(fs_->NewRandomAccessFile(dir_ + "/none", FileOptions(), &file, nullptr).IsPathNotFound());
  uint64_t size = 0;
  EXPECT_FALSE(fs_->GetFileSize(dir_ + "/none", IOOptions(), &size, nullptr).ok());
  EXPECT_FALSE(IdealFileSystemOfUri("ideal://steam").has_value());
}

TEST_F(IdealTest, SequentialReadsStopAtTheEnd) {
  Put("1.log", "0123456789");
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(fs_->NewSequentialFile(dir_ + "/1.log", FileOptions(), &file, nullptr).ok());
  std::string scratch(100, '?');
  Slice result;
  ASSERT_TRUE(file->Read(4, IOOptions(), &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result.ToString(), "0123");
  ASSERT_TRUE(file->Skip(3).ok());
  ASSERT_TRUE(file->Read(100, IOOptions(), &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result.ToString(), "789");
  ASSERT_TRUE(file->Skip(1000).ok());
  ASSERT_TRUE(file->Read(100, IOOptions(), &result, scratch.data(), nullptr).ok());
  EXPECT_TRUE(result.empty());
}

TEST_F(IdealTest, BytesAreCountedByCause) {
  Put("a.sst", std::string(5000, 'a'));
  Put("1.log", std::string(300, 'w'));
  Put("MANIFEST-000001", std::string(50, 'm'));
  const nlohmann::json bytes = Counters()["device_bytes"];
  EXPECT_EQ(bytes["data"], 5000);
  EXPECT_EQ(bytes["wal"], 300);
  EXPECT_EQ(bytes["metadata"], 50);
  EXPECT_EQ(bytes["padding"], 3 * 4096 + 4096 - 5350);
}

TEST_F(IdealTest, DirectReadsTakeTheTimeOfTheDrive) {
  Put("a.sst", std::string(1 << 20, 'a'));
  Make("zn540");
  const auto file = Opened("a.sst", Direct());
  std::string scratch(4096, '?');
  Slice result;
  constexpr int kReads = 50;
  const SteadyTime before = SteadyNow();
  for (int i = 0; i < kReads; ++i) {
    ASSERT_TRUE(
        file->Read(static_cast<uint64_t>(i) * 4096, 4096, IOOptions(), &result, scratch.data(), nullptr)
            .ok());
  }
  EXPECT_GE(SteadyNow() - before, kReads * std::chrono::microseconds(50));
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
TEST_F(IdealTest, AsynchronousReadsOverlap) {
  Put("a.sst", std::string(64 << 10, 'a'));
  Make("bufferless");
  const auto file = Opened("a.sst", Direct());
  std::vector<std::string> scratch(8, std::string(4096, '?'));
  std::vector<void*> handles(8);
  int done = 0;
  rocksdb::IOHandleDeleter deleter;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    FSReadRequest request;
    request.offset = i * 4096;
    request.len = 4096;
    request.scratch = scratch[i].data();
    const auto finished = [&done](const FSReadRequest& of, void*) {
      done += of.status.ok() && of.result.size() == 4096;
    };
    ASSERT_TRUE(
        file->ReadAsync(request, IOOptions(), finished, nullptr, &handles[i], &deleter, nullptr).ok());
  }
  EXPECT_EQ(done, 0);
  ASSERT_TRUE(fs_->Poll(handles, handles.size()).ok());
  EXPECT_EQ(done, 8);
  EXPECT_EQ(scratch[7], std::string(4096, 'a'));
  for (void* handle : handles) deleter(handle);
}
#endif

TEST_F(IdealTest, ADatabaseIsFoundAgain) {
  const auto open = [this] {
    static std::unique_ptr<rocksdb::Env> env;
    env = rocksdb::NewCompositeEnv(std::shared_ptr<rocksdb::FileSystem>(fs_.get(), [](auto*) {}));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = env.get();
    options.write_buffer_size = 64 << 10;
    options.use_direct_reads = options.use_direct_io_for_flush_and_compaction = true;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, dir_ + "/db", &db).ok());
    return std::unique_ptr<rocksdb::DB>(db);
  };
  {
    const auto db = open();
    for (int i = 0; i < 5000; ++i)
      ASSERT_TRUE(db->Put({}, std::to_string(i), std::string(100, 'a' + i % 26)).ok());
    ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
    ASSERT_TRUE(db->Put({}, "last", "in the log only").ok());
  }
  const auto db = open();
  std::string value;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(db->Get({}, std::to_string(i), &value).ok());
    ASSERT_EQ(value, std::string(100, 'a' + i % 26));
  }
  ASSERT_TRUE(db->Get({}, "last", &value).ok());
  EXPECT_EQ(value, "in the log only");
}

}  // namespace
}  // namespace zenfs
