// Asynchronous reads as RocksDB makes them (FilePrefetchBuffer, RandomAccessFileReader), on a device that takes its time.
#include <atomic>
#include <functional>
#include <list>

#include "base/thread.h"
#include "file_contract.h"

namespace zenfs {
namespace {

class AsyncReadTest : public FileContract {
 protected:
  // One read: its memory, its handle, and what the callback said.
  struct Read {
    std::string scratch;
    FSReadRequest request;
    void* handle = nullptr;
    rocksdb::IOHandleDeleter deleter;
    int calls = 0;
    IOStatus status;
    std::string result;

    ~Read() {
      status.PermitUncheckedError();
      request.status.PermitUncheckedError();
      if (handle != nullptr) deleter(handle);
    }
  };

  void SetUp() override {
    fs_.reset();
    fs_ = volume_.Open("latency_us:500");
    ASSERT_NE(fs_, nullptr);
    ASSERT_STATUS_OK(WriteWhole(*fs_, "/000001.sst", text_));
  }
  static void Start(rocksdb::FSRandomAccessFile& file, Read& read, std::uint64_t offset, std::size_t n) {
    read.scratch.assign(n, '?');
    read.request.offset = offset;
    read.request.len = n;
    read.request.scratch = read.scratch.data();
    ASSERT_STATUS_OK(file.ReadAsync(
        read.request, IOOptions(),
        [](const FSReadRequest& done, void* argument) {
          auto* const ended = static_cast<Read*>(argument);
          ++ended->calls;
          ended->status = done.status;
          ended->result = done.result.ToString();
        },
        &read, &read.handle, &read.deleter, nullptr));
  }
  static FileOptions Direct() {
    FileOptions options;
    options.use_direct_reads = true;
    return options;
  }

  const std::string text_ = RandomBytes(2'000'000, 1);
};

TEST_F(AsyncReadTest, AreOffered) { EXPECT_TRUE(OffersAsyncReads(*fs_)); }

TEST_F(AsyncReadTest, APollCallsBackWithTheBytes) {
  for (const FileOptions& options : {FileOptions(), Direct()}) {
    const auto file = OpenRandom("/000001.sst", options);
    std::list<Read> reads(3);
    std::vector<void*> handles;
    std::uint64_t offset = 0;
    for (Read& read : reads) {
      Start(*file, read, offset, 800'000);
      ASSERT_NE(read.handle, nullptr);
      EXPECT_EQ(read.calls, 0);
      handles.push_back(read.handle);
      offset += 800'000;
    }
    ASSERT_STATUS_OK(fs_->Poll(handles, 1));
    ASSERT_STATUS_OK(fs_->Poll(handles, handles.size()));
    offset = 0;
    for (Read& read : reads) {
      EXPECT_EQ(read.calls, 1);
      EXPECT_STATUS_OK(read.status);
      EXPECT_TRUE(read.result == text_.substr(offset, 800'000)) << "the last one is short";
      offset += 800'000;
    }
  }
}

TEST_F(AsyncReadTest, AnAbortedReadIsCalledBackAsAborted) {
  const auto file = OpenRandom("/000001.sst");
  Read read;
  Start(*file, read, 0, 100'000);
  std::vector<void*> handles = {read.handle};
  ASSERT_STATUS_OK(fs_->AbortIO(handles));
  EXPECT_EQ(read.calls, 1);
  EXPECT_TRUE(read.status.IsAborted());
  ASSERT_STATUS_OK(fs_->Poll(handles, 1));
  ASSERT_STATUS_OK(fs_->AbortIO(handles));
  EXPECT_EQ(read.calls, 1);
}

TEST_F(AsyncReadTest, TheFileAndTheFileSystemMayGoBeforeTheHandle) {
  auto file = OpenRandom("/000001.sst", Direct());
  Read unpolled;
  Read polled;
  Start(*file, unpolled, 0, 100'000);
  Start(*file, polled, 4096, 8192);
  file.reset();
  std::vector<void*> handles = {polled.handle};
  ASSERT_STATUS_OK(fs_->Poll(handles, 1));
  EXPECT_EQ(polled.result, text_.substr(4096, 8192));
  fs_.reset();
  EXPECT_EQ(unpolled.calls, 0);
}

TEST_F(AsyncReadTest, SixtyFourThreadsAbortTheirScansHalfWay) {
  const auto file = OpenRandom("/000001.sst", Direct());
  std::atomic<int> wrong = 0;
  std::vector<Thread> threads;
  for (int id = 0; id < 64; ++id) {
    threads.emplace_back("scan", [&, id] {
      for (int round = 0; round < 5; ++round) {
        Read first;
        Read second;
        const std::uint64_t offset = 4096 * static_cast<std::uint64_t>(id + round);
        Start(*file, first, offset, 16384);
        Start(*file, second, offset + 16384, 65536);
        std::vector<void*> handles = {first.handle};
        if (!fs_->Poll(handles, 1).ok() || first.result != text_.substr(offset, 16384)) ++wrong;
        handles = {second.handle};
        if (round % 2 == 0 && (!fs_->AbortIO(handles).ok() || !second.status.IsAborted())) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace zenfs
