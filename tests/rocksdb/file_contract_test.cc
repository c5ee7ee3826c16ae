// What RocksDB expects of every open file (rocksdb/file_system.h), in both shapes; one test a promise.
#include "file_contract.h"

#include <gmock/gmock.h>

#include <atomic>

#include "base/coding.h"
#include "base/crc32c.h"
#include "base/thread.h"

namespace zenfs {
namespace {

using rocksdb::FSRandomAccessFile;

// For both shapes of file; the name decides which it is.
class BothShapes : public FileContract, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Names, BothShapes, ::testing::Values("/000001.sst", "/000002.log"));

TEST_P(BothShapes, UnsyncedBytesAreReadableThroughAnotherHandle) {
  const std::string bytes = RandomBytes(10'000, 1);
  auto file = Create(GetParam());
  ASSERT_STATUS_OK(file->Append(Slice(bytes).ToString().substr(0, 6'000), io_, nullptr));
  auto reader = OpenRandom(GetParam());
  EXPECT_EQ(ReadAt(*reader, 0, 10'000), bytes.substr(0, 6'000));
  ASSERT_STATUS_OK(file->Append(bytes.substr(6'000), io_, nullptr));
  EXPECT_EQ(ReadAt(*reader, 5'990, 100), bytes.substr(5'990, 100));
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 10'000u);
}

TEST_P(BothShapes, ContentsSurviveRemount) {
  const std::string bytes = RandomBytes(3'000'001, 2);
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), bytes));
  fs_.reset();
  fs_ = volume_.Open();
  EXPECT_EQ(ReadWhole(*fs_, GetParam()), bytes);
}

TEST_P(BothShapes, ReadsAreShortOnlyAtTheEnd) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), "0123456789"));
  auto file = OpenRandom(GetParam());
  EXPECT_EQ(ReadAt(*file, 0, 10), "0123456789");
  EXPECT_EQ(ReadAt(*file, 7, 10), "789");
  EXPECT_EQ(ReadAt(*file, 10, 10), "");
  EXPECT_EQ(ReadAt(*file, 1'000'000, 10), "");
}

// R13 of docs/internals/failures.md.
TEST_P(BothShapes, SkipPastTheEndStopsThere) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), "0123456789"));
  auto file = OpenSequential(GetParam());
  char scratch[4];
  Slice result;
  ASSERT_STATUS_OK(file->Skip(4));
  ASSERT_STATUS_OK(file->Read(3, io_, &result, scratch, nullptr));
  EXPECT_EQ(result, "456");
  ASSERT_STATUS_OK(file->Skip(1'000'000));
  ASSERT_STATUS_OK(file->Read(3, io_, &result, scratch, nullptr));
  EXPECT_TRUE(result.empty());
  ASSERT_STATUS_OK(file->Skip(1));
}

TEST_P(BothShapes, ReopenedFileKeepsItsContents) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), "first,"));
  auto file = Reopen(GetParam());
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 6u);
  ASSERT_STATUS_OK(file->Append("second", io_, nullptr));
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, GetParam()), "first,second");
}

// R1 of docs/internals/failures.md.
TEST_P(BothShapes, ReopeningAFileOpenForWritingDoesNotBlock) {
  auto first = Create(GetParam());
  ASSERT_STATUS_OK(first->Append("a", io_, nullptr));
  auto second = Reopen(GetParam());
  ASSERT_NE(second, nullptr);
  ASSERT_STATUS_OK(second->Append("b", io_, nullptr));
  ASSERT_STATUS_OK(second->Sync(io_, nullptr));
  ASSERT_STATUS_OK(second->Close(io_, nullptr));
  ASSERT_STATUS_OK(first->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, GetParam()), "ab");
}

TEST_P(BothShapes, DeletedFileIsReadableUntilItsHandleCloses) {
  const std::string bytes = RandomBytes(500'000, 3);
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), bytes));
  auto reader = OpenRandom(GetParam());
  ASSERT_STATUS_OK(fs_->DeleteFile(GetParam(), io_, nullptr));
  EXPECT_TRUE(fs_->FileExists(GetParam(), io_, nullptr).IsNotFound());
  EXPECT_EQ(ReadAt(*reader, 0, bytes.size()), bytes);
}

// R3 of docs/internals/failures.md.
TEST_P(BothShapes, DeletedOpenFileCanStillBeWritten) {
  auto file = Create(GetParam());
  ASSERT_STATUS_OK(file->Append("before", io_, nullptr));
  ASSERT_STATUS_OK(fs_->DeleteFile(GetParam(), io_, nullptr));
  EXPECT_STATUS_OK(file->Append(RandomBytes(2 << 20, 4), io_, nullptr));
  EXPECT_STATUS_OK(file->Sync(io_, nullptr));
  EXPECT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_TRUE(fs_->FileExists(GetParam(), io_, nullptr).IsNotFound());
}

// R2 of docs/internals/failures.md.
TEST_P(BothShapes, OpeningWhileTheNameIsDeletedAndMadeAgainGivesAFileOrAnError) {
  std::atomic<bool> done{false};
  Thread churn("churn", [&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_STATUS_OK(WriteWhole(*fs_, GetParam(), "content", /*sync=*/false));
      EXPECT_STATUS_OK(fs_->DeleteFile(GetParam(), io_, nullptr));
    }
    done = true;
  });
  while (!done) {
    std::unique_ptr<FSRandomAccessFile> file;
    const IOStatus status = fs_->NewRandomAccessFile(GetParam(), FileOptions(), &file, nullptr);
    ASSERT_EQ(status.ok(), file != nullptr);
    if (file == nullptr) {
      ASSERT_TRUE(status.IsPathNotFound()) << status.ToString();
    } else {
      ASSERT_THAT(ReadAt(*file, 0, 7), ::testing::AnyOf("", "content"));
    }
  }
}

TEST_P(BothShapes, SyncRunsBesideAppends) {
  auto file = Create(GetParam());
  ASSERT_TRUE(file->IsSyncThreadSafe());
  std::atomic<bool> done{false};
  Thread syncs("syncs", [&] {
    while (!done) EXPECT_STATUS_OK(file->Sync(io_, nullptr));
  });
  std::string all;
  for (int i = 0; i < 2'000; ++i) {
    const std::string piece = RandomBytes(137, static_cast<std::uint64_t>(i));
    ASSERT_STATUS_OK(file->Append(piece, io_, nullptr));
    ASSERT_STATUS_OK(file->Flush(io_, nullptr));
    all += piece;
  }
  done = true;
  syncs.Join();
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, GetParam()), all);
}

TEST_P(BothShapes, WrittenBytesMustMatchTheChecksumHandedOver) {
  auto file = Create(GetParam());
  const std::string bytes = RandomBytes(5'000, 5);
  std::string checksum;
  PutFixed<std::uint32_t>(checksum, Crc32c(AsBytes(bytes)));
  ASSERT_STATUS_OK(file->Append(bytes, io_, DataVerificationInfo{checksum}, nullptr));
  checksum[0] ^= 1;
  const IOStatus refused = file->Append(bytes, io_, DataVerificationInfo{checksum}, nullptr);
  EXPECT_TRUE(refused.IsCorruption()) << refused.ToString();
  EXPECT_FALSE(refused.GetDataLoss()) << "RocksDB has the bytes still";
  EXPECT_TRUE(file->Append(bytes, io_, DataVerificationInfo{"123"}, nullptr).IsInvalidArgument());
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, GetParam()), bytes);
}

TEST_P(BothShapes, MultiReadServesEachRequest) {
  const std::string bytes = RandomBytes(1 << 20, 6);
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), bytes));
  auto file = OpenRandom(GetParam());
  constexpr std::size_t kRequests = 32;
  std::vector<std::string> scratch(kRequests, std::string(5'000, '\0'));
  std::vector<FSReadRequest> requests(kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests[i].offset = i * 33'000 + i;
    requests[i].len = scratch[i].size();
    requests[i].scratch = scratch[i].data();
  }
  requests[30].offset = bytes.size() - 10;  // ends early
  requests[31].offset = bytes.size() + 10;  // nothing there
  ASSERT_STATUS_OK(file->MultiRead(requests.data(), requests.size(), io_, nullptr));
  for (const FSReadRequest& request : requests) {
    ASSERT_STATUS_OK(request.status);
    const std::string expected =
        request.offset < bytes.size() ? bytes.substr(request.offset, request.len) : "";
    EXPECT_EQ(request.result.ToString(), expected) << request.offset;
  }
}

// As RocksDB reads with allow_mmap_reads: it keeps the pointers while the file is open.
TEST_P(BothShapes, ReadsWithoutMemoryPointIntoTheFile) {
  const std::string bytes = RandomBytes((1 << 20) + 77, 7);
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), bytes));
  auto file = OpenRandom(GetParam());
  std::vector<std::pair<std::uint64_t, Slice>> kept;
  for (const std::uint64_t offset :
       {0ul, 5ul, (256ul << 10) - 3, 700'000ul, bytes.size() - 10, bytes.size()}) {
    Slice result;
    ASSERT_STATUS_OK(file->Read(offset, 300'000, io_, &result, nullptr, nullptr));
    kept.emplace_back(offset, result);
  }
  ASSERT_STATUS_OK(fs_->DeleteFile(GetParam(), io_, nullptr));
  for (const auto& [offset, result] : kept) EXPECT_TRUE(result == bytes.substr(offset, 300'000)) << offset;

  char scratch[10];
  std::vector<FSReadRequest> requests(2);
  requests[0].offset = requests[1].offset = 1'000;
  requests[0].len = requests[1].len = 10;
  requests[1].scratch = scratch;
  ASSERT_STATUS_OK(file->MultiRead(requests.data(), requests.size(), io_, nullptr));
  for (const FSReadRequest& request : requests) {
    EXPECT_STATUS_OK(request.status);
    EXPECT_EQ(request.result.ToString(), bytes.substr(1'000, 10));
  }
  EXPECT_EQ(requests[0].result.data(), kept[0].second.data() + 1'000);
}

TEST_P(BothShapes, FileOpenedAsMappedIsNeverCopied) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), "0123456789"));
  FileOptions options;
  options.use_mmap_reads = true;
  auto file = OpenRandom(GetParam(), options);
  char scratch[4] = {};
  Slice result;
  ASSERT_STATUS_OK(file->Read(3, 4, io_, &result, scratch, nullptr));
  EXPECT_EQ(result.ToString(), "3456");
  EXPECT_NE(result.data(), scratch);
}

// An emulated device without times: there is nothing to wait for.
TEST_P(BothShapes, ReadAsyncCallsBackBeforeItReturns) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, GetParam(), "0123456789"));
  auto file = OpenRandom(GetParam());
  char scratch[4];
  FSReadRequest request;
  request.offset = 3;
  request.len = 4;
  request.scratch = scratch;
  std::string seen;
  void* handle = scratch;  // anything but null
  rocksdb::IOHandleDeleter deleter = [](void*) { FAIL() << "there is no handle to delete"; };
  ASSERT_STATUS_OK(file->ReadAsync(
      request, io_,
      [](const FSReadRequest& done, void* argument) {
        EXPECT_STATUS_OK(done.status);
        *static_cast<std::string*>(argument) = done.result.ToString();
      },
      &seen, &handle, &deleter, nullptr));
  EXPECT_EQ(seen, "3456");
  EXPECT_EQ(handle, nullptr);
  std::vector<void*> handles;
  EXPECT_STATUS_OK(fs_->Poll(handles, 0));
  EXPECT_FALSE(OffersAsyncReads(*fs_));
}

}  // namespace
}  // namespace zenfs
