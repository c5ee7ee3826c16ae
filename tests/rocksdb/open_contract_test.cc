// How files are opened, replaced and written directly, and what zones can't do; one test a promise.
#include <gmock/gmock.h>

#include "base/coding.h"
#include "base/crc32c.h"
#include "file_contract.h"

namespace zenfs {
namespace {

using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using ::testing::HasSubstr;

TEST_F(FileContract, MissingFilesAreErrorsWithANullResult) {
  std::unique_ptr<FSSequentialFile> sequential;
  EXPECT_TRUE(fs_->NewSequentialFile("/nothing", FileOptions(), &sequential, nullptr).IsPathNotFound());
  EXPECT_EQ(sequential, nullptr);
  std::unique_ptr<FSRandomAccessFile> random;
  EXPECT_TRUE(fs_->NewRandomAccessFile("/nothing", FileOptions(), &random, nullptr).IsPathNotFound());
  EXPECT_EQ(random, nullptr);
  std::unique_ptr<FSWritableFile> writable;
  EXPECT_TRUE(fs_->NewWritableFile("/no/directory", FileOptions(), &writable, nullptr).IsPathNotFound());
  EXPECT_EQ(writable, nullptr);
}

std::string ReadNext(FSSequentialFile& file, std::size_t n) {
  std::string scratch(n, '\0');
  Slice result;
  const IOStatus status = file.Read(n, IOOptions(), &result, scratch.data(), nullptr);
  return status.ok() ? result.ToString() : status.ToString();
}

// A secondary reads the WAL while the writer appends to it.
TEST_F(FileContract, SequentialReaderThatReadsAheadSeesWhatIsAppendedLater) {
  const std::string bytes = RandomBytes(9'000, 11);
  auto writer = Create("/000004.log");
  ASSERT_STATUS_OK(writer->Append(Slice(bytes.data(), 3'500), io_, nullptr));
  ASSERT_STATUS_OK(writer->Flush(io_, nullptr));
  const auto reader = OpenSequential("/000004.log");
  for (std::size_t at = 0; at < 3'000; at += 1'000)
    EXPECT_EQ(ReadNext(*reader, 1'000), bytes.substr(at, 1'000));
  EXPECT_EQ(ReadNext(*reader, 1'000), bytes.substr(3'000, 500));
  EXPECT_EQ(ReadNext(*reader, 1'000), "");
  ASSERT_STATUS_OK(writer->Append(Slice(bytes.data() + 3'500, 5'500), io_, nullptr));
  ASSERT_STATUS_OK(writer->Sync(io_, nullptr));
  EXPECT_EQ(ReadNext(*reader, 2'000), bytes.substr(3'500, 2'000));
  EXPECT_EQ(ReadNext(*reader, 9'000), bytes.substr(5'500));
  EXPECT_EQ(ReadNext(*reader, 1), "");
  ASSERT_STATUS_OK(writer->Close(io_, nullptr));
}

TEST_F(FileContract, SequentialReadsOfAllSizesAndSkipsReturnTheirBytes) {
  const std::string bytes = RandomBytes(7'000'000, 12);
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/000005.log", bytes));
  const auto reader = OpenSequential("/000005.log");
  std::size_t at = 0;
  for (int i = 0; at < bytes.size(); ++i) {
    const std::size_t n = i % 7 == 6 ? 1'500'000 : 1 + std::size_t{77'777} * i % 200'000;
    ASSERT_EQ(ReadNext(*reader, n), bytes.substr(at, n)) << at;
    at += n;
    if (i % 5 != 4) continue;
    ASSERT_STATUS_OK(reader->Skip(123'456));
    at = std::min(at + 123'456, bytes.size());
  }
  EXPECT_EQ(ReadNext(*reader, 100), "");
}

TEST_F(FileContract, ReopeningAMissingFileCreatesIt) {
  auto file = Reopen("/000007.log");
  ASSERT_STATUS_OK(file->Append("x", io_, nullptr));
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, "/000007.log"), "x");
}

TEST_F(FileContract, CreatingReplacesWhatHadTheName) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/f.sst", RandomBytes(100'000, 7)));
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/f.sst", "new"));
  EXPECT_EQ(ReadWhole(*fs_, "/f.sst"), "new");
}

TEST_F(FileContract, ReusedFileIsEmptyUnderItsNewName) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/000001.log", RandomBytes(100'000, 8)));
  std::unique_ptr<FSWritableFile> file;
  ASSERT_STATUS_OK(fs_->ReuseWritableFile("/000002.log", "/000001.log", FileOptions(), &file, nullptr));
  ASSERT_STATUS_OK(file->Append("fresh", io_, nullptr));
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_TRUE(fs_->FileExists("/000001.log", io_, nullptr).IsNotFound());
  EXPECT_EQ(ReadWhole(*fs_, "/000002.log"), "fresh");
  EXPECT_TRUE(
      fs_->ReuseWritableFile("/3.log", "/missing.log", FileOptions(), &file, nullptr).IsPathNotFound());
  EXPECT_EQ(file, nullptr);
}

// As RocksDB's WritableFileWriter does it: whole buffers, the padded last page again, then the true size.
// D14 of docs/internals/failures.md.
TEST_F(FileContract, DirectWriterRewritesItsLastBlockAndTruncates) {
  FileOptions direct;
  direct.use_direct_writes = true;
  auto file = Create("/000003.sst", direct);
  ASSERT_TRUE(file->use_direct_io());
  ASSERT_EQ(file->GetRequiredBufferAlignment(), 4096u);
  const std::string bytes = RandomBytes(2'500'000, 9);
  const auto page = [&](std::uint64_t offset, std::size_t length) {
    std::string padded = bytes.substr(offset, length);
    padded.resize(length, '\0');
    return padded;
  };
  ASSERT_STATUS_OK(file->PositionedAppend(page(0, 1 << 20), 0, io_, nullptr));
  // Flushed in mid-block: padded, and the block is written again with more in it.
  const std::string flushed = bytes.substr(1 << 20, 5'000) + std::string(3'192, '\0');
  ASSERT_STATUS_OK(file->PositionedAppend(flushed, 1 << 20, io_, nullptr));
  const std::uint64_t again = (1 << 20) + 4096;
  const std::size_t rest = (bytes.size() - again + 4095) / 4096 * 4096;
  std::string checksum;
  PutFixed<std::uint32_t>(checksum, Crc32c(AsBytes(page(again, rest))));
  std::string wrong = checksum;
  wrong[3] ^= 0x10;
  EXPECT_TRUE(file->PositionedAppend(page(again, rest), again, io_, DataVerificationInfo{wrong}, nullptr)
                  .IsCorruption());
  ASSERT_STATUS_OK(
      file->PositionedAppend(page(again, rest), again, io_, DataVerificationInfo{checksum}, nullptr));
  ASSERT_STATUS_OK(file->Truncate(bytes.size(), io_, nullptr));
  ASSERT_STATUS_OK(file->Fsync(io_, nullptr));
  ASSERT_STATUS_OK(file->Close(io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, "/000003.sst"), bytes);
  FileOptions direct_reads;
  direct_reads.use_direct_reads = true;
  EXPECT_TRUE(OpenRandom("/000003.sst", direct_reads)->use_direct_io());
}

TEST_F(FileContract, LogsAreNeverDirect) {
  FileOptions direct;
  direct.use_direct_writes = true;
  direct.use_direct_reads = true;
  for (const char* name : {"/000004.log", "/MANIFEST-000005", "/LOG"}) {
    EXPECT_FALSE(Create(name, direct)->use_direct_io()) << name;
    EXPECT_FALSE(OpenRandom(name, direct)->use_direct_io()) << name;
  }
  EXPECT_FALSE(fs_->OptimizeForLogWrite(direct, rocksdb::DBOptions()).use_direct_writes);
  EXPECT_FALSE(fs_->OptimizeForManifestWrite(direct).use_direct_writes);
}

// R6 of docs/internals/failures.md.
TEST_F(FileContract, SixtyFourFilesOpenForWritingOnFourteenZones) {
  constexpr std::size_t kFiles = 64;
  std::vector<std::unique_ptr<FSWritableFile>> files;
  for (std::size_t i = 0; i < kFiles; ++i) files.push_back(Create("/" + std::to_string(i) + ".sst"));
  for (std::uint64_t round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < kFiles; ++i) {
      ASSERT_STATUS_OK(files[i]->Append(RandomBytes(200'001, i * 100 + round), io_, nullptr));
    }
  }
  for (auto& file : files) {
    ASSERT_STATUS_OK(file->Sync(io_, nullptr));
    ASSERT_STATUS_OK(file->Close(io_, nullptr));
  }
  for (std::size_t i = 0; i < kFiles; ++i) {
    std::string expected;
    for (std::uint64_t round = 0; round < 6; ++round) expected += RandomBytes(200'001, i * 100 + round);
    ASSERT_EQ(ReadWhole(*fs_, "/" + std::to_string(i) + ".sst"), expected) << i;
  }
}

TEST_F(FileContract, UniqueIdsAreStableDistinctAndNeverReused) {
  const auto id_of = [&](const std::string& path) {
    char id[31];
    const std::size_t length = OpenRandom(path)->GetUniqueId(id, sizeof id);
    EXPECT_GT(length, 0u);
    return std::string(id, length);
  };
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/a.sst", "a"));
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/b.sst", "b"));
  const std::string a = id_of("/a.sst");
  EXPECT_EQ(id_of("/a.sst"), a);
  EXPECT_NE(id_of("/b.sst"), a);
  EXPECT_FALSE(id_of("/b.sst").starts_with(a));
  ASSERT_STATUS_OK(fs_->DeleteFile("/a.sst", io_, nullptr));
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/a.sst", "another"));
  EXPECT_NE(id_of("/a.sst"), a);
  char small[8];
  EXPECT_EQ(OpenRandom("/a.sst")->GetUniqueId(small, sizeof small), 0u);
}

TEST_F(FileContract, PreparingAWriteReservesNothing) {
  auto file = Create("/000006.sst");
  file->SetPreallocationBlockSize(64 << 20);
  file->PrepareWrite(0, 1 << 20, io_, nullptr);
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 0u);
  EXPECT_STATUS_OK(file->RangeSync(0, 0, io_, nullptr));
  EXPECT_STATUS_OK(file->InvalidateCache(0, 0));
}

TEST_F(FileContract, LifetimeHintIsKept) {
  auto file = Create("/000008.sst");
  file->SetWriteLifeTimeHint(rocksdb::Env::WLTH_LONG);
  EXPECT_EQ(file->GetWriteLifeTimeHint(), rocksdb::Env::WLTH_LONG);
  EXPECT_STATUS_OK(file->Append("x", io_, nullptr));
  EXPECT_STATUS_OK(file->Close(io_, nullptr));
}

TEST_F(FileContract, WhatZonesCannotDoIsNotSupported) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/f.sst", "x"));
  std::unique_ptr<rocksdb::FSRandomRWFile> random_rw;
  const IOStatus status = fs_->NewRandomRWFile("/f.sst", FileOptions(), &random_rw, nullptr);
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_THAT(status.ToString(), HasSubstr("/f.sst"));
  EXPECT_EQ(random_rw, nullptr);
}

TEST_F(FileContract, BufferedFilesArePrefetchedAndDirectOnesAreNot) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/f.sst", "text"));
  EXPECT_STATUS_OK(OpenRandom("/f.sst")->Prefetch(0, 1, io_, nullptr));
  EXPECT_STATUS_OK(OpenRandom("/f.sst")->Prefetch(2, 100, io_, nullptr)) << "beyond the end";
  EXPECT_STATUS_OK(OpenRandom("/f.sst")->InvalidateCache(0, 0));
  FileOptions direct;
  direct.use_direct_reads = true;
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_STATUS_OK(fs_->NewRandomAccessFile("/f.sst", direct, &file, nullptr));
  EXPECT_TRUE(file->Prefetch(0, 1, io_, nullptr).IsNotSupported()) << "RocksDB then reads ahead itself";
}

TEST_F(FileContract, TruncatingByNameShortens) {
  ASSERT_STATUS_OK(WriteWhole(*fs_, "/f.sst", "0123456789"));
  ASSERT_STATUS_OK(fs_->Truncate("/f.sst", 4, io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, "/f.sst"), "0123");
  EXPECT_TRUE(fs_->Truncate("/missing", 0, io_, nullptr).IsPathNotFound());
}

}  // namespace
}  // namespace zenfs
