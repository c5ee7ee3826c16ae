// Flush of plain files: their bytes and names survive the death of the process, like those of logs.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "testing/direct_commit.h"
#include "testing/faulty_device.h"
#include "volume/fsck/check_volume.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class VolumeFlushPlainTest : public VolumeFlushTest {};

// The names that RocksDB and its tools give to files.
constexpr std::array kNames{"000012.sst",     "000013.blob", "trace",   "x.log.tmp",       "000014.dbtmp",
                            "OPTIONS-000007", "IDENTITY",    "CURRENT", "000012.sst.trash"};

TEST_F(VolumeFlushPlainTest, FlushedBytesAndTheNameSurviveTheProcess) {
  for (const std::size_t size : {1ul, 16ul, 4096ul, 5000ul, 300'000ul, 1'500'000ul}) {
    for (const std::string name : kNames) {
      Open(name);
      const std::string text = Text(size);
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      Die();
      ASSERT_TRUE(Mount());
      ASSERT_TRUE(Get(name) == text) << name << ", " << size << " bytes";
      ASSERT_TRUE(volume_->notices().empty());
      ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    }
  }
}

// Also if a buffer is full, and if whole buffers were written to zones in between.
TEST_F(VolumeFlushPlainTest, EachOfManyFlushesSurvivesTheProcess) {
  std::string expected;
  for (unsigned round = 0; round < 12; ++round) {
    Open("1.blob");
    for (unsigned i = 0; i < 20 + 13 * round; ++i) {
      const std::string text = Text(i % 40 == 17 ? 300'000 : 3000 + i, i);
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      expected += text;
    }
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("not flushed"))));
    Die();
    ASSERT_TRUE(Mount()) << "round " << round;
    const std::string found = Get("1.blob");  // once the file is framed, unflushed bytes may survive too
    ASSERT_TRUE(found == expected || found == expected + "not flushed") << "round " << round;
    ASSERT_TRUE(volume_->notices().empty());
    expected = found;
    if (round % 4 == 3) {
      ASSERT_TRUE(IsOk(volume_->Unlink("1.blob")));
      expected.clear();
    }
  }
}

TEST_F(VolumeFlushPlainTest, ManySmallFlushesWriteEachBlockOnce) {
  Open("1.blob");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(IsOk(AppendAndFlush(Text(3000))));
  EXPECT_LE(volume_->counters().written.plain_data, 1000u * 3000 * 102 / 100);
}

TEST_F(VolumeFlushPlainTest, ASmallFlushSendsNothingToTheDevice) {
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  device_->StopAfter(0);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(IsOk(AppendAndFlush(Text(3000))));
}

// RocksDB flushes a table whenever its own buffer of a MiB is full.
TEST_F(VolumeFlushPlainTest, FlushesOfATableThatIsBeingWrittenCommitItsNameAndNothingElse) {
  std::string expected;
  for (const std::string name : {"direct.sst", "unaligned.sst"}) {
    Open(name);
    const WriteCounters before = volume_->counters().written;
    AlignedBuffer piece(1 << 20);
    expected.clear();
    for (unsigned i = 0; i < 4; ++i) {
      const std::string text = Text((1 << 20) - (name == "direct.sst" ? 0 : 13), i);
      piece.Clear();
      piece.Append(AsBytes(text));
      ASSERT_TRUE(IsOk(file_->Append(piece.View())));
      ASSERT_TRUE(IsOk(file_->Flush()));
      expected += text;
    }
    EXPECT_LE(volume_->counters().written.plain_data - before.plain_data, expected.size());
    Die();
    const auto committed = CheckVolume(*device_, {});
    ASSERT_TRUE(IsOk(committed));
    EXPECT_EQ(committed->files, 1u);
    EXPECT_EQ(committed->extents, 0u);
    ASSERT_TRUE(Mount());
    EXPECT_TRUE(Get(name) == expected) << name;
    EXPECT_TRUE(volume_->notices().empty());
    LosePower(LossPolicy::LoseAll());
    ASSERT_TRUE(Mount());
    EXPECT_TRUE(Get(name) == expected) << name;
    ExpectSound();
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
  }
}

// RocksDB flushes small files once, directly before it syncs them.
TEST_F(VolumeFlushPlainTest, ASyncBehindTheFlushOfASmallFileFindsNothingToDo) {
  for (const std::size_t size : {100ul, 200'000ul}) {
    Open("1.sst");
    const std::string text = Text(size);
    ASSERT_TRUE(IsOk(AppendAndFlush(text)));
    device_->StopAfter(0);
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(file_->Flush()));
    LosePower(LossPolicy::LoseAll());
    ASSERT_TRUE(Mount());
    EXPECT_TRUE(Get("1.sst") == text);
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

TEST_F(VolumeFlushPlainTest, ATruncationBehindAFlushStays) {
  for (const std::size_t size : {0ul, 5ul, 6000ul, 6500ul, 6999ul, 100'000ul, 1'300'000ul, 1'400'000ul}) {
    for (const int then : {0, 1, 2}) {
      Open("1.sst");
      const std::string text = Text(size < 7000 ? 7000 : 1'400'001);
      ASSERT_TRUE(IsOk(file_->Append(AsBytes(text.substr(0, 6000)))));
      ASSERT_TRUE(IsOk(file_->Sync()));
      ASSERT_TRUE(IsOk(AppendAndFlush(text.substr(6000))));
      ASSERT_TRUE(IsOk(file_->Truncate(size)));
      std::string expected = text.substr(0, size);
      if (then == 1) {
        ASSERT_TRUE(IsOk(file_->Sync()));
      }
      if (then == 2) {
        expected += "behind it";
        ASSERT_TRUE(IsOk(AppendAndFlush("behind it")));
      }
      Die();
      ASSERT_TRUE(Mount());
      const std::string found = Get("1.sst");
      EXPECT_TRUE(found == expected) << size << ", " << then << ": " << found.size();
      ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
    }
  }
}

// All buffers are in use by logs, so that each flush of a table is a sync.
TEST_F(VolumeFlushPlainTest, ATruncationBehindAFlushStaysWithoutAFreeBuffer) {
  const std::string text = Text(600'000);
  for (const bool full : {false, true}) {
    for (const std::size_t size : {500'000ul, 100'001ul, 5ul}) {
      Open("1.sst");
      ASSERT_TRUE(IsOk(AppendAndFlush(text.substr(0, 300'000))));
      ASSERT_TRUE(IsOk(AppendAndFlush(text.substr(300'000))));
      std::vector<std::unique_ptr<FileHandle>> logs;
      for (int i = 0; full && i < 40; ++i) {
        auto log = volume_->Create(std::to_string(i) + ".log");
        ASSERT_TRUE(IsOk(log));
        ASSERT_TRUE(IsOk((*log)->Append(AsBytes("0123456789"))));
        ASSERT_TRUE(IsOk((*log)->Flush()));
        logs.push_back(*std::move(log));
      }
      ASSERT_TRUE(IsOk(file_->Truncate(size)));
      device_->StopAfter(0);
      logs.clear();
      Die();
      ASSERT_TRUE(Mount());
      EXPECT_TRUE(Get("1.sst") == text.substr(0, size)) << size << ", " << Get("1.sst").size();
      ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
    }
  }
}

// The synced content does not come back, whatever was flushed and cut since.
TEST_F(VolumeFlushPlainTest, ContentThatWasTruncatedAwayDoesNotComeBack) {
  for (const bool flushed : {true, false}) {
    Open("1.sst");
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("OLD!"))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(volume_->Link("1.sst", "2.sst")));
    auto other = volume_->OpenForAppend("2.sst", false);
    ASSERT_TRUE(IsOk(other));
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(file_->Append(AsBytes(std::string(500, 'n')))));
    if (flushed) {
      ASSERT_TRUE(IsOk((*other)->Flush()));
    }
    ASSERT_TRUE(IsOk(volume_->Rename("1.sst", "3.sst")));
    ASSERT_TRUE(IsOk((*other)->Truncate(0)));
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("z"))));
    device_->StopAfter(0);  // before a close, which would be a sync
    other->reset();
    Die();
    ASSERT_TRUE(Mount());
    EXPECT_THAT(Get("2.sst"), testing::AnyOf("", "z"));
    EXPECT_EQ(Get("3.sst"), Get("2.sst"));
    ASSERT_TRUE(IsOk(volume_->Unlink("2.sst")));
    ASSERT_TRUE(IsOk(volume_->Unlink("3.sst")));
  }
}

// RocksDB's direct writer does this with its last page.
TEST_F(VolumeFlushPlainTest, ABlockThatIsWrittenAgainBehindAFlushSurvivesWithTheNextOne) {
  Open("1.sst");
  ASSERT_TRUE(IsOk(file_->Append(AsBytes(Text(8192)))));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(Text(100, 1))));
  ASSERT_TRUE(IsOk(file_->PositionedAppend(AsBytes(Text(4096, 2)), 8192)));
  ASSERT_TRUE(IsOk(file_->Flush()));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Get("1.sst") == Text(8192) + Text(4096, 2));
}

TEST_F(VolumeFlushPlainTest, ADeletedOrReplacedFileIsNotRecovered) {
  for (const bool rename : {false, true}) {
    for (const bool closed : {false, true}) {
      Open("1.blob");
      ASSERT_TRUE(IsOk(AppendAndFlush("commits it")));
      ASSERT_TRUE(IsOk(AppendAndFlush(Text(5000))));
      std::unique_ptr<FileHandle> old = std::move(file_);
      Open("2.blob");
      ASSERT_TRUE(IsOk(AppendAndFlush("other")));
      ASSERT_TRUE(IsOk(rename ? volume_->Rename("2.blob", "1.blob") : volume_->Unlink("1.blob")));
      if (closed) old.reset();
      device_->StopAfter(0);
      old.reset();
      Die();
      ASSERT_TRUE(Mount());
      EXPECT_EQ(Get(rename ? "1.blob" : "2.blob"), "other");
      EXPECT_EQ(volume_->List("")->size(), 1u);
      EXPECT_TRUE(volume_->notices().empty());
      ASSERT_TRUE(IsOk(volume_->Unlink(rename ? "1.blob" : "2.blob")));
    }
  }
}

TEST_F(VolumeFlushPlainTest, ARenamedFileKeepsItsFlushedBytes) {
  Open("1.tmp");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits it, ")));
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed, ")));
  ASSERT_TRUE(IsOk(volume_->Rename("1.tmp", "1")));
  ASSERT_TRUE(IsOk(AppendAndFlush("renamed")));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1"), "commits it, flushed, renamed");
}

// The last close failed and returned the error. The next open continues after the committed bytes.
TEST_F(VolumeFlushPlainTest, AFileThatIsOpenedAgainAfterAFailedCloseHasNoBytesOfBefore) {
  auto faulty = std::make_unique<FaultyDevice>(Borrow(*device_));
  FaultyDevice& faults = *faulty;
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  mounted_ = Volume::Mount(std::move(faulty), Options());
  ASSERT_TRUE(IsOk(mounted_));
  volume_ = *mounted_;
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("committed, ")));
  ASSERT_TRUE(IsOk(AppendAndFlush(Text(5000))));
  faults.Inject({.command = FaultyDevice::Command::kWrite, .times = 1000});
  EXPECT_FALSE(file_->Close().ok());
  file_.reset();
  faults.ClearFaults();
  ASSERT_EQ(Get("1.blob"), "committed, ");
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("new")));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.blob"), "committed, new");
}

TEST_F(VolumeFlushPlainTest, WhatWasRecoveredIsDurableAndTheFileCanBeUsedOn) {
  Open("1.blob");
  std::string expected = Text(9000);
  ASSERT_TRUE(IsOk(AppendAndFlush(expected)));
  for (unsigned i = 0; i < 10; ++i) {
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(3000, i))));
    expected += Text(3000, i);
  }
  Die();
  ASSERT_TRUE(Mount());
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  ASSERT_TRUE(Get("1.blob") == expected);
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("more")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  expected += "more";
  ASSERT_TRUE(Get("1.blob") == expected);
  ASSERT_TRUE(IsOk(file_->Truncate(20'000)));
  ASSERT_TRUE(IsOk(file_->Close()));
  file_.reset();
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  ExpectSound();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Get("1.blob") == expected.substr(0, 20'000));
}

// Then each flush that does not fit a shared buffer is a sync.
TEST_F(VolumeFlushPlainTest, WithoutSharedMemoryAFlushSurvivesToo) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  MountOptions options = Options();
  options.flush_directory = "none";
  mounted_ = Volume::Mount(Borrow(*device_), options);
  ASSERT_TRUE(IsOk(mounted_));
  volume_ = *mounted_;
  std::string expected;
  Open("1.blob");
  for (unsigned i = 0; i < 10; ++i) {
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(3000, i))));
    expected += Text(3000, i);
  }
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Get("1.blob") == expected);
}

TEST_F(VolumeFlushPlainTest, MoreFilesThanBuffersKeepWhatTheyFlushed) {
  std::vector<std::unique_ptr<FileHandle>> files;
  std::vector<std::string> expected(45);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Open(std::to_string(i) + (i % 3 == 0 ? ".log" : ".blob"));
    files.push_back(std::move(file_));
  }
  for (unsigned round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string text = Text(500 + 37 * i, round);
      ASSERT_TRUE(IsOk(files[i]->Append(AsBytes(text))));
      ASSERT_TRUE(IsOk(files[i]->Flush()));
      expected[i] += text;
    }
  }
  device_->StopAfter(0);
  files.clear();
  Die();
  ASSERT_TRUE(Mount());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(Get(std::to_string(i) + (i % 3 == 0 ? ".log" : ".blob")) == expected[i]) << i;
  }
}

// The bytes fit the zones reserved for the log, and no file grows.
TEST_F(VolumeFlushPlainTest, ADeviceThatIsFullOfDataStillMounts) {
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("committed, ")));
  std::unique_ptr<FileHandle> blob = std::move(file_);
  Open("filler.sst");
  const std::string block(64 << 10, 'f');
  while (file_->Append(AsBytes(block)).ok() && file_->Sync().ok()) {
  }
  file_.reset();
  const std::string text = Text(100'000);
  ASSERT_TRUE(IsOk(blob->Append(AsBytes(text))));
  ASSERT_TRUE(IsOk(blob->Flush()));
  device_->StopAfter(0);
  blob.reset();
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Get("1.blob") == "committed, " + text);
}

TEST_F(VolumeFlushPlainTest, CheckSaysHowManyBytesWait) {
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush("committed")));
  ASSERT_TRUE(IsOk(AppendAndFlush(Text(5000))));
  Die();
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  const auto waits = [](const Finding& finding) {
    return finding.text.find("5000 bytes of 1 file that were flushed") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(report->findings, waits));
}

// If each table with flushed extents cost a copy of all files, this would take half a minute.
TEST_F(VolumeFlushPlainTest, AFlushedTableCostsACheckNoCopyOfAllFiles) {
  constexpr std::uint64_t kFiles = 50'000;
  constexpr std::uint64_t kTables = 1000;
  End();
  EmulatorGeometry geometry = FlushGeometry();
  geometry.zone_size = geometry.zone_capacity = 16 << 20;
  Use(std::make_unique<CrashDevice>(geometry));
  ASSERT_TRUE(IsOk(FormatVolume(*device_, {})));
  ASSERT_TRUE(IsOk(CommitDirectly(*device_, [](const State& state) {
    const std::uint64_t first = state.next_id();
    std::vector<Edit> edits{RaiseCounters{first + kFiles, 0}};
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      edits.push_back(CreateFile{.id = FileId(first + i)});
      edits.push_back(LinkFile{kRootDirectory, std::to_string(i), FileId(first + i)});
    }
    return edits;
  })));
  MountOptions options = Options();
  options.append_buffers = kTables + 8;
  options.wal_buffer_bytes = 64 << 10;
  options.plain_buffer_bytes = 8 << 10;
  mounted_ = Volume::Mount(Borrow(*device_), options);
  ASSERT_TRUE(IsOk(mounted_));
  volume_ = *mounted_;
  std::vector<std::unique_ptr<FileHandle>> tables;
  for (std::uint64_t i = 0; i < kTables; ++i) {
    Open(std::to_string(i) + ".sst");
    ASSERT_TRUE(IsOk(AppendAndFlush("committed")));
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(30'000))));
    tables.push_back(std::move(file_));
  }
  device_->StopAfter(0);
  tables.clear();
  Die();
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  const auto waits = [](const Finding& finding) {
    return finding.text.find("of 1000 files that were flushed") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(report->findings, waits));
}

}  // namespace
}  // namespace zenfs
