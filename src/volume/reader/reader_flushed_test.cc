// Readers and flushed bytes that are only in the writer's shared memory: of a writer that runs, and of one that died.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "base/thread.h"
#include "device/read_only_view.h"
#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "testing/switched_points.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ReaderFlushedTest : protected SwitchedPoints, public VolumeFlushTest {
 protected:
  void TearDown() override {
    reader_.reset();
    VolumeFlushTest::TearDown();
  }
  void MountReader() {
    auto device = std::make_unique<FaultyDevice>(MakeReadOnlyView(*device_));
    reader_device_ = device.get();
    auto reader = Volume::Mount(std::move(device), {.read_only = true});
    ASSERT_TRUE(IsOk(reader));
    reader_ = *std::move(reader);
  }
  std::string Read(const std::string& path) {
    const Result<std::string> content = GetFile(*reader_, path);
    EXPECT_TRUE(IsOk(content)) << path;
    return content.value_or("<unreadable>");
  }
  std::string ReadAll(const FileHandle& file) {
    const Result<std::string> content = ContentOf(file);
    EXPECT_TRUE(IsOk(content));
    return content.value_or("<unreadable>");
  }
  // A table with extents that no commit names, and bytes behind them; or a log with synced bytes and others.
  std::string WriteFlushed(const std::string& path, unsigned seed = 0) {
    Open(path);
    std::string text = Text(300'000, seed);
    EXPECT_TRUE(IsOk(AppendAndFlush(text)));
    if (path.ends_with(".log")) {
      EXPECT_TRUE(IsOk(file_->Sync()));
    }
    const std::string more = Text(10'000, seed + 3);
    EXPECT_TRUE(IsOk(AppendAndFlush(more)));
    return text + more;
  }
  // Runs `meanwhile` once, when a reader gets to `point`.
  std::unique_ptr<During> Once(std::string_view point, std::function<void()> meanwhile) {
    auto done = std::make_shared<bool>(false);
    SwitchedPoints& points = *this;
    return std::make_unique<During>(points, [=, this](std::string_view name) {
      if (name != point || std::exchange(*done, true)) return;
      Thread("test-writer", meanwhile).Join();  // a writer of its own: the reader may hold its lock
      ++interruptions_;
    });
  }
  // Makes `attempt` with `path` anew until it interrupts a reader: on a slow machine the drain may be faster, and
  // leaves nothing to interrupt.
  void UntilInterrupted(const std::string& path, const std::function<void()>& attempt) {
    interruptions_ = 0;
    for (int i = 0; i < 5 && interruptions_ == 0; ++i) {
      if (i != 0) {
        file_.reset();
        ASSERT_TRUE(IsOk(volume_->Unlink(path)));
      }
      MountReader();  // copies no slot yet
      ASSERT_NO_FATAL_FAILURE(attempt());
    }
    EXPECT_EQ(interruptions_, 1) << path;
  }
  // Takes the room of all deleted bytes.
  void OverwriteFreeZones() {
    std::unique_ptr<FileHandle> mine = std::move(file_);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(IsOk(PutFile(*volume_, "filler.sst", Text(600'000, 13))));
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(IsOk(PutFile(*volume_, "filler.log", Text(300'000, 17))));
    ASSERT_TRUE(IsOk(volume_->Unlink("filler.sst")));
    ASSERT_TRUE(IsOk(volume_->Unlink("filler.log")));
    file_ = std::move(mine);
  }

  static constexpr const char* kPoints[] = {"LiveBuffers::Update", "LiveBuffers::ReadSlotBytes",
                                            "LiveState::RefreshAll:flushed", "ReaderHandle::Read:planned",
                                            "LiveState::Confirm"};
  FaultyDevice* reader_device_ = nullptr;
  std::shared_ptr<Volume> reader_;
  int interruptions_ = 0;
};

TEST_F(ReaderFlushedTest, WhatALivingWriterFlushesIsReadAtOnce) {
  MountReader();
  for (const std::string name : {"a.log", "b.sst", "LOG", "c.blob"}) {
    Open(name);
    std::string expected;
    std::unique_ptr<FileHandle> held;
    std::uint64_t seed = 0;
    for (const std::size_t bytes : {1, 100, 4096, 200'000, 1, 700'000, 13, 5000, 128, 70'000}) {
      const std::string text = Text(bytes, static_cast<unsigned>(++seed));
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      expected += text;
      ASSERT_TRUE(Read(name) == expected) << name << " after " << expected.size();
      const auto stat = reader_->Stat(name);
      ASSERT_TRUE(IsOk(stat));
      EXPECT_EQ(stat->size, expected.size());
      if (held == nullptr) held = reader_->OpenForRead(name).value();
      EXPECT_TRUE(ReadAll(*held) == expected) << name;
      std::string tail(bytes + 10, '\0');  // a reader that follows the end
      const auto n = held->Read(expected.size() - bytes, std::as_writable_bytes(std::span(tail)));
      ASSERT_TRUE(IsOk(n));
      EXPECT_TRUE(tail.substr(0, *n) == text) << name;
    }
    const auto list = reader_->List("");
    ASSERT_TRUE(IsOk(list));
    for (const DirectoryEntry& entry : *list) {
      EXPECT_TRUE(entry.name != name || entry.stat.size == expected.size()) << entry.stat.size;
    }
  }
  EXPECT_THAT(reader_->notices(), IsEmpty());
}

TEST_F(ReaderFlushedTest, AfterItsWriterDiedAFileIsReadAsTheNextMountRecoversIt) {
  std::map<std::string, std::string> expected;
  for (const std::string name : {"a.log", "b.sst", "MANIFEST-000001"}) expected[name] = WriteFlushed(name);
  Die();
  MountReader();
  for (const auto& [name, content] : expected) {
    EXPECT_TRUE(Read(name) == content) << name;
    EXPECT_EQ(reader_->Stat(name)->size, content.size());
  }
  EXPECT_THAT(reader_->notices(), IsEmpty()) << "nothing is missing";
  EXPECT_EQ(reader_->shortfall()->unsynced, "");
  ExpectSound();
  const auto held = reader_->OpenForRead("a.log");
  ASSERT_TRUE(IsOk(held));
  ASSERT_TRUE(Mount());
  for (const auto& [name, content] : expected) {
    EXPECT_TRUE(VolumeFlushTest::Get(name) == content) << name;
    EXPECT_TRUE(Read(name) == content) << name << " beside the next mount";
  }
  EXPECT_TRUE(ReadAll(**held) == expected["a.log"]);
  EXPECT_THAT(reader_->notices(), IsEmpty());
}

TEST_F(ReaderFlushedTest, AfterAKillBehindTheCommitOfATruncationAReaderShowsTheShorterFile) {
  for (const auto& [synced, size] : kFlushedTables) {
    const std::string text = Text(size);
    DieInATruncation("1.sst", text, synced, 5);
    MountReader();
    EXPECT_TRUE(Read("1.sst") == text.substr(0, 5));
    EXPECT_EQ(reader_->Stat("1.sst")->size, 5U);
    EXPECT_THAT(reader_->notices(), IsEmpty());
    const auto shortfall = reader_->shortfall();
    ASSERT_TRUE(IsOk(shortfall));
    EXPECT_EQ(shortfall->unsynced, "");
    EXPECT_THAT(shortfall->lost, IsEmpty());
    reader_.reset();
    ASSERT_TRUE(Mount());
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

// Bytes leave the memory when they are on the device, at any moment of a look.
TEST_F(ReaderFlushedTest, BytesThatMoveToTheDeviceDuringALookAreNeitherMissedNorDoubled) {
  for (const std::string kind : {".log", ".sst"}) {
    for (const char* point : kPoints) {
      for (const bool more : {false, true}) {
        const std::string name =
            std::string(point).substr(point[4] == 'B' ? 13 : 0, 9) + (more ? "1" : "0") + kind;
        std::string expected;
        std::string read;
        UntilInterrupted(name, [&] {
          expected = WriteFlushed(name);
          const auto during = Once(point, [&] {
            ASSERT_TRUE(IsOk(file_->Sync()));
            if (!more) return;
            ASSERT_TRUE(IsOk(AppendAndFlush("more")));
          });
          // Opens the file, and reads what it had at least then.
          const auto file = reader_->OpenForRead(name);
          ASSERT_TRUE(IsOk(file)) << point;
          read = ReadAll(**file);
        });
        EXPECT_TRUE(read == expected || (more && read == expected + "more"))
            << point << kind << ": " << read.size() << " of " << expected.size();
        const std::string now = more ? expected + "more" : expected;
        EXPECT_TRUE(Read(name) == now) << point << kind;
        file_.reset();
        ASSERT_TRUE(IsOk(volume_->Unlink(name)));
      }
    }
  }
}

TEST_F(ReaderFlushedTest, ATruncationDuringALookShowsTheFileBeforeOrAfterIt) {
  for (const std::string kind : {".log", ".sst"}) {
    for (const char* point : kPoints) {
      for (const std::uint64_t size : {0u, 100'000u, 305'000u}) {
        const std::string name = "x" + kind;
        const std::string tail = Text(20'000, 5);
        std::string before;
        std::string after;
        std::string read;
        UntilInterrupted(name, [&] {
          before = WriteFlushed(name);
          after = before.substr(0, size) + tail;
          const auto during = Once(point, [&] {
            ASSERT_TRUE(IsOk(file_->Truncate(size)));
            ASSERT_TRUE(IsOk(AppendAndFlush(tail)));
            OverwriteFreeZones();
          });
          const auto file = reader_->OpenForRead(name);
          ASSERT_TRUE(IsOk(file));
          std::string content(before.size() + tail.size(), '\0');
          const auto n = (*file)->Read(0, std::as_writable_bytes(std::span(content)));
          ASSERT_TRUE(IsOk(n)) << point << kind << size;
          read = content.substr(0, *n);
        });
        EXPECT_TRUE(read == before || read == after) << point << kind << ' ' << size << ": " << read.size();
        EXPECT_TRUE(Read(name) == after) << point << kind << ' ' << size;
        file_.reset();
        ASSERT_TRUE(IsOk(volume_->Unlink(name)));
      }
    }
  }
}

TEST_F(ReaderFlushedTest, ADeletedFileIsGoneOrIntactAndARenamedOneIsReadOn) {
  for (const std::string kind : {".log", ".sst"}) {
    for (const char* point : {"ReaderHandle::Read:planned", "LiveState::Confirm"}) {
      for (const bool deleted : {false, true}) {
        const std::string expected = WriteFlushed("x" + kind);
        MountReader();
        const auto file = reader_->OpenForRead("x" + kind);
        ASSERT_TRUE(IsOk(file));
        std::string content(expected.size(), '\0');
        Result<std::size_t> n = std::size_t{0};
        {
          const auto during = Once(point, [&] {
            ASSERT_TRUE(
                IsOk(deleted ? volume_->Unlink("x" + kind) : volume_->Rename("x" + kind, "y" + kind)));
            if (deleted) file_.reset();
            OverwriteFreeZones();
          });
          n = (*file)->Read(0, std::as_writable_bytes(std::span(content)));
        }
        if (deleted) {
          if (n) {
            EXPECT_TRUE(content == expected) << point << kind;
          } else {
            EXPECT_EQ(n.error().code(), Code::kNotFound) << point << kind;
          }
        } else {
          ASSERT_TRUE(IsOk(n));
          EXPECT_TRUE(content == expected) << point << kind;
          EXPECT_TRUE(Read("y" + kind) == expected);
          file_.reset();
          ASSERT_TRUE(IsOk(volume_->Unlink("y" + kind)));
        }
      }
    }
  }
}

// The slot gets bytes of another file while a reader copies it.
TEST_F(ReaderFlushedTest, ASlotThatIsFilledAnewDuringItsReadIsNeverTakenForTheOldOne) {
  MountReader();
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush(Text(50'000, 1))));
  {
    const auto during = Once("LiveBuffers::ReadSlotBytes", [&] {
      ASSERT_TRUE(IsOk(file_->Close()));
      ASSERT_TRUE(IsOk(volume_->Unlink("a.log")));
      for (int i = 0; i < 20; ++i) {
        Open("b" + std::to_string(i) + ".log");
        ASSERT_TRUE(IsOk(AppendAndFlush(Text(50'000, 2))));
      }
    });
    const auto opened = GetFile(*reader_, "a.log");
    EXPECT_EQ(interruptions_, 1);
    EXPECT_TRUE(!opened || *opened == Text(50'000, 1));
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Read("b" + std::to_string(i) + ".log") == Text(50'000, 2));
  EXPECT_THAT(reader_->notices(), IsEmpty());
}

// A mount that discards them may write other bytes at the same place of the file, without a change of its record.
TEST_F(ReaderFlushedTest, AHandleDoesNotShowFlushedBytesThatAMountHasDiscarded) {
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  MountReader();
  const auto file = reader_->OpenForRead("a.log");
  ASSERT_TRUE(IsOk(file));
  EXPECT_EQ(ReadAll(**file), "flushed");
  discard_ = true;
  ASSERT_TRUE(Mount());
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("another")));
  std::string content(7, '\0');
  const auto n = (*file)->Read(0, std::as_writable_bytes(std::span(content)));
  ASSERT_TRUE(IsOk(n));
  EXPECT_EQ(content.substr(0, *n), "another");
}

TEST_F(ReaderFlushedTest, NothingIsSaidWhereNothingCanBeMissing) {
  WriteFlushed("a.log");
  MountReader();
  EXPECT_THAT(reader_->notices(), IsEmpty()) << "its writer runs";
  file_.reset();
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_THAT(reader_->notices(), IsEmpty()) << "its writer has ended";
  mounted_ = Fail(Code::kShutdown, "ended");
  volume_.reset();
  MountOptions options = Options();
  options.flush_directory = "none";
  mounted_ = Volume::Mount(Borrow(*device_), options);
  ASSERT_TRUE(IsOk(mounted_));
  volume_ = *mounted_;
  const std::string expected = WriteFlushed("b.log");
  EXPECT_THAT(reader_->notices(), IsEmpty()) << "each flush is a write to the device";
  EXPECT_TRUE(Read("b.log") == expected);
  Die();
  MountReader();
  EXPECT_THAT(reader_->notices(), IsEmpty());
  EXPECT_TRUE(Read("b.log") == expected);
}

TEST_F(ReaderFlushedTest, ReadersAndACheckSayWhyFlushedBytesMayBeMissing) {
  const std::string synced = Text(20'000, 0);  // so little that nothing is drained early
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush(synced)));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(Text(10'000, 3))));
  Die();
  ASSERT_EQ(Buffers().size(), 1u);
  const std::string path = Buffers()[0];
  const std::string kept = path + ".kept";
  const auto expect_said = [&](const std::string& why) {
    MountReader();
    EXPECT_TRUE(Read("a.log") == synced) << why;
    const auto shortfall = reader_->shortfall();
    ASSERT_TRUE(IsOk(shortfall));
    EXPECT_THAT(shortfall->unsynced, HasSubstr(path)) << why;
    EXPECT_THAT(shortfall->lost, IsEmpty()) << why;
    EXPECT_THAT(reader_->notices(), testing::ElementsAre(shortfall->unsynced));
    const auto report = CheckVolume(*device_, {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_EQ(report->unsynced, shortfall->unsynced);
  };
  std::filesystem::copy_file(path, kept);
  std::filesystem::remove(path);
  expect_said("gone");
  std::filesystem::copy_file(kept, path);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  expect_said("not private");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  std::string bytes = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const std::size_t at = bytes.find(Text(10'000, 3));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5000] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  expect_said("damaged");
  EXPECT_FALSE(CheckVolume(*device_, {})->clean());
  bytes[at + 5000] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  MountReader();
  EXPECT_TRUE(Read("a.log") == synced + Text(10'000, 3));
  EXPECT_THAT(reader_->notices(), IsEmpty());
  device_->SetIdentity("crash:2");
  MountReader();
  EXPECT_THAT(reader_->shortfall()->unsynced, HasSubstr("copy"));
  device_->SetIdentity("crash:1");
}

TEST_F(ReaderFlushedTest, FlushedBytesCostALookNoDeviceCommand) {
  MountReader();
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  const auto commands = [&](const std::function<void()>& call) {
    call();  // sees all commits so far
    const auto count = [&] {
      return reader_device_->count(FaultyDevice::Command::kReport) +
             reader_device_->count(FaultyDevice::Command::kRead);
    };
    std::uint64_t least = UINT64_MAX;  // the log's background thread may commit
    for (int i = 0; i < 20; ++i) {
      const auto before = count();
      call();
      least = std::min(least, count() - before);
    }
    return least;
  };
  const auto handle = reader_->OpenForRead("a.log");
  ASSERT_TRUE(IsOk(handle));
  std::string bytes(3, '\0');
  const auto stat = [&] { EXPECT_TRUE(IsOk(reader_->Stat("a.log"))); };
  const auto read = [&] { EXPECT_TRUE(IsOk((*handle)->Read(1, std::as_writable_bytes(std::span(bytes))))); };
  const auto of_stat = commands(stat);
  const auto of_read = commands(read);
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  EXPECT_LE(commands(stat), of_stat);
  EXPECT_LE(commands(read), of_read);
  EXPECT_EQ(Read("a.log"), "syncedflushed");
}

// What such a file lacks is looked at twice, so that a writer that moves bytes meanwhile is not blamed.
TEST_F(ReaderFlushedTest, FilesThatLackBytesBeforeFlushedOnesAreListedWithOneLookForAll) {
  constexpr int kLogs = 12;
  std::vector<std::unique_ptr<FileHandle>> open;  // a close would write what is flushed
  for (int i = 0; i < kLogs; ++i) {
    Open(fmt::format("{}.log", i));
    ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
    open.push_back(std::move(file_));
  }
  std::set<ZoneId> zones;
  for (int i = 0; i < kLogs; ++i) {
    const auto layout = volume_->Layout(fmt::format("{}.log", i));
    ASSERT_TRUE(IsOk(layout));
    for (const Extent& frame : layout->frames) zones.insert(device_->geometry().ZoneOf(frame.place));
  }
  device_->StopAfter(0);
  open.clear();
  Die();
  auto device = std::make_unique<FaultyDevice>(MakeReadOnlyView(*device_));
  reader_device_ = device.get();
  for (const ZoneId zone : zones)
    device->Inject({.command = FaultyDevice::Command::kRead, .times = FaultyDevice::kForEver, .zone = zone});
  auto reader = Volume::Mount(std::move(device), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  reader_ = *std::move(reader);
  EXPECT_EQ(reader_->shortfall().value().lost_files.size(), kLogs);
  const auto before = reader_device_->count(FaultyDevice::Command::kReport);
  const auto list = reader_->List("");
  ASSERT_TRUE(IsOk(list));
  EXPECT_EQ(list->size(), kLogs);
  EXPECT_LT(reader_device_->count(FaultyDevice::Command::kReport) - before, kLogs);
}

}  // namespace
}  // namespace zenfs
