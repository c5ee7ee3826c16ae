#include "volume/reader/reader_volume.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fmt/format.h>
#include "base/clock.h"
#include "testing/sim_scheduler.h"

#include "volume/reader/reader_test_rig.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ReaderTest, AFileThatIsKnownIsOpenedWithoutALookAtTheDevice) {
  Put("a.sst", "one");
  const auto stat = reader_->Stat("a.sst");
  ASSERT_TRUE(IsOk(stat));
  const auto looks = [&] {
    return reader_device_->count(FaultyDevice::Command::kReport) +
           reader_device_->count(FaultyDevice::Command::kRead);
  };
  const auto before = looks();
  const auto known = reader_->OpenForRead("a.sst", stat->id);
  ASSERT_TRUE(IsOk(known));
  EXPECT_EQ(looks(), before);
  EXPECT_EQ(ReadAll(**known), "one");
  const auto unknown = reader_->OpenForRead("a.sst", FileId{stat->id.value + 1});
  ASSERT_TRUE(IsOk(unknown));
  EXPECT_GT(looks(), before);
}

TEST_F(ReaderTest, AFileThatWasKnownAndReplacedIsNeverReadAsTheNewOne) {
  Put("a.sst", "one");
  const auto stat = reader_->Stat("a.sst");
  ASSERT_TRUE(IsOk(stat));
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  Put("a.sst", "two");
  OverwriteFreeZones();
  const auto known = reader_->OpenForRead("a.sst", stat->id);
  ASSERT_TRUE(IsOk(known));
  std::string content(3, '\0');
  EXPECT_EQ(CodeOf((*known)->Read(0, std::as_writable_bytes(std::span(content)))), Code::kNotFound);
  EXPECT_EQ(Read("a.sst"), "two");
}

TEST_F(ReaderTest, EachLookSeesWhatIsCommittedThen) {
  EXPECT_EQ(CodeOf(reader_->Stat("a.sst")), Code::kNotFound);
  Put("a.sst", "one");
  EXPECT_EQ(Read("a.sst"), "one");
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
  ASSERT_TRUE(IsOk(volume_->Rename("a.sst", "d/b.sst")));
  Put("d/w.log", "frames");
  const auto list = reader_->List("d");
  ASSERT_TRUE(IsOk(list));
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].name, "b.sst");
  EXPECT_EQ((*list)[1].name, "w.log");
  EXPECT_EQ((*list)[1].stat.size, 6u);
  EXPECT_EQ(CodeOf(reader_->Stat("a.sst")), Code::kNotFound);
  ASSERT_TRUE(IsOk(volume_->Unlink("d/b.sst")));
  // The writer's own threads commit too, for example the zones that they make ready for the log.
  const std::uint64_t committed = volume_->counters().metalog.sequence;
  EXPECT_EQ(CodeOf(reader_->OpenForRead("d/b.sst")), Code::kNotFound);
  const std::uint64_t seen = reader_->counters().metalog.sequence;
  EXPECT_GE(seen, committed);
  EXPECT_LE(seen, volume_->counters().metalog.sequence);
  EXPECT_EQ(reader_->counters().epoch, volume_->counters().epoch);
  EXPECT_TRUE(IsOk(reader_->health()));
  EXPECT_EQ(CodeOf(reader_->Create("x")), Code::kReadOnly);
  EXPECT_EQ(CodeOf(reader_->Lock("x")), Code::kReadOnly);
}

TEST_F(ReaderTest, ARenamedFileIsReadOnThroughItsHandle) {
  for (const char* name : {"a.sst", "a.log"}) {
    const std::string content = RandomBytes(200'000, 2);
    Put(name, content);
    const auto file = Open(name);
    ASSERT_TRUE(IsOk(volume_->Rename(name, std::string("moved-") + name)));
    OverwriteFreeZones();
    EXPECT_EQ(ReadAll(*file), content);
  }
}

TEST_F(ReaderTest, AHandleAtTheEndSeesWhatWasWrittenSince) {
  for (const char* name : {"a.log", "a.sst"}) {
    auto writer = volume_->Create(name);
    ASSERT_TRUE(IsOk(writer));
    ASSERT_TRUE(IsOk((*writer)->Append(AsBytes("first"))));
    ASSERT_TRUE(IsOk((*writer)->Sync()));
    const auto file = Open(name);
    std::string expected = "first";
    std::uint64_t position = 0;
    for (int i = 0; i < 50; ++i) {
      std::string piece(expected.size() - position + 10, '\0');
      const auto n = file->Read(position, std::as_writable_bytes(std::span(piece)));
      ASSERT_TRUE(IsOk(n));
      piece.resize(*n);
      EXPECT_EQ(piece, expected.substr(position));
      position += *n;
      const std::string more =
          RandomBytes(1 + static_cast<std::size_t>(i) * 400, static_cast<std::uint64_t>(i));
      ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(more))));
      ASSERT_TRUE(IsOk((*writer)->Sync()));
      expected += more;
    }
    EXPECT_EQ(file->size(), expected.size());
    EXPECT_EQ(ReadAll(*file), expected);
  }
}

TEST_F(ReaderTest, AFileTruncatedAndWrittenAgainDuringAReadIsReadAsItIsNow) {
  for (const char* name : {"a.sst", "a.log"}) {
    const std::string old = RandomBytes(200'000, 3);
    const std::string tail = RandomBytes(50'000, 4);
    Put(name, old);
    const auto file = Open(name);
    const auto read = ReadWhile(*file, old.size(), [&] {
      ASSERT_TRUE(IsOk(TruncateFile(*volume_, name, 100'000)));
      OverwriteFreeZones();
      auto writer = volume_->OpenForAppend(name, false);
      ASSERT_TRUE(IsOk(writer));
      ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(tail))));
      ASSERT_TRUE(IsOk((*writer)->Sync()));
    });
    ASSERT_TRUE(IsOk(read));
    EXPECT_EQ(*read, old.substr(0, 100'000) + tail);
  }
}

// The reader's host is suspended, on the simulated clock.
TEST(SlowReaderTest, OneChangeDuringAReadThatTakesLongIsReadAgain) {
  SimScheduler({.seed = 1}).Run([] {
    const auto device = CreateMemoryDevice(SmallGeometry());
    ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
    const auto writer = Volume::Mount(Borrow(*device), {.flush_directory = "none"});
    ASSERT_TRUE(IsOk(writer));
    const auto log = (*writer)->Create("a.log");
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes("before"))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
    ASSERT_TRUE(IsOk((*log)->Close()));
    const auto reader = Volume::Mount(MakeReadOnlyView(*device), {.read_only = true});
    ASSERT_TRUE(IsOk(reader));
    const auto file = (*reader)->OpenForRead("a.log");
    ASSERT_TRUE(IsOk(file));
    bool done = false;
    const SyncPoint::Scope during([&](std::string_view name) {
      if (name != "ReaderHandle::Read:planned" || std::exchange(done, true)) return;
      EXPECT_TRUE(IsOk(TruncateFile(**writer, "a.log", 3)));
      SleepUntil(SteadyNow() + std::chrono::seconds(60));
    });
    std::string content(6, '\0');
    const auto n = (*file)->Read(0, std::as_writable_bytes(std::span(content)));
    ASSERT_TRUE(IsOk(n));
    EXPECT_EQ(content.substr(0, *n), "bef");
    EXPECT_TRUE(done);
    EXPECT_TRUE(IsOk((*writer)->Unmount()));
  });
}

TEST(LostMetadataTest, NoFileIsOpenedAnyMoreAlsoNoneThatWasKnown) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const auto writer = Volume::Mount(Borrow(*device), {.flush_directory = "none"});
  ASSERT_TRUE(IsOk(writer));
  ASSERT_TRUE(IsOk((*writer)->Create("a.sst")));
  ASSERT_TRUE(IsOk((*writer)->Unmount()));
  const auto reader = Volume::Mount(MakeReadOnlyView(*device), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  const auto stat = (*reader)->Stat("a.sst");
  ASSERT_TRUE(IsOk(stat));
  for (const ZoneId zone : (*reader)->info().superblock.metadata_zones)
    ASSERT_TRUE(IsOk(device->Reset(zone)));
  EXPECT_EQ(CodeOf((*reader)->List("")), Code::kCorruption);
  EXPECT_EQ(CodeOf((*reader)->OpenForRead("a.sst", stat->id)), Code::kCorruption);
}

TEST_F(ReaderTest, ALogCleanedIntoExtentsDuringAReadIsReadFromThere) {
  std::string expected;
  auto manifest = volume_->Create("MANIFEST-000001");
  ASSERT_TRUE(IsOk(manifest));
  for (int i = 0; i < 30; ++i) {
    const std::string piece = RandomBytes(500, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(IsOk((*manifest)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*manifest)->Sync()));
    expected += piece;
  }
  const auto file = Open("MANIFEST-000001");
  EXPECT_TRUE(reader_->Layout("MANIFEST-000001")->extents.empty());
  const auto read = ReadWhile(*file, expected.size(), [&] {
    for (int i = 0; volume_->counters().written.cleaned == 0; ++i) {
      ASSERT_LT(i, 500);
      Put("w.log", RandomBytes(300'000, static_cast<std::uint64_t>(i)));
    }
    ASSERT_TRUE(IsOk(volume_->Unlink("w.log")));
    OverwriteFreeZones();
  });
  ASSERT_TRUE(IsOk(read));
  EXPECT_EQ(*read, expected);
  EXPECT_FALSE(reader_->Layout("MANIFEST-000001")->extents.empty());
}

TEST_F(ReaderTest, SwitchesOfTheMetadataLogDuringAReadChangeNothing) {
  for (const char* name : {"a.sst", "a.log"}) {
    const std::string content = RandomBytes(200'000, 5);
    Put(name, content);
    const auto file = Open(name);
    const auto read = ReadWhile(*file, content.size(), [&] { SwitchTheLog(); });
    ASSERT_TRUE(IsOk(read));
    EXPECT_EQ(*read, content);
    SwitchTheLog();
    EXPECT_EQ(ReadAll(*file), content);
  }
  EXPECT_EQ(Read("CURRENT"), "x");
}

TEST_F(ReaderTest, AWriterThatEndsAndAnotherThatBeginsAreFollowed) {
  std::string content = RandomBytes(50'000, 6);
  Put("a.log", content);
  const auto file = Open("a.log");
  for (int i = 0; i < 3; ++i) {
    Remount();
    auto writer = volume_->OpenForAppend("a.log", false);
    ASSERT_TRUE(IsOk(writer));
    const std::string more = RandomBytes(10'000, 60 + static_cast<std::uint64_t>(i));
    ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(more))));
    ASSERT_TRUE(IsOk((*writer)->Sync()));
    content += more;
    EXPECT_EQ(ReadAll(*file), content);
  }
}

TEST_F(ReaderTest, LayoutsOfManyFilesTakeOneLook) {
  constexpr int kLogs = 20;
  std::vector<FileId> files;
  for (int i = 0; i < kLogs; ++i) {
    const std::string name = fmt::format("{}.log", i);
    Put(name, std::string(100, 'x'));
    files.push_back(volume_->Stat(name).value().id);
  }
  ASSERT_TRUE(IsOk(volume_->Unlink("3.log")));
  const auto looks = [&] { return reader_device_->count(FaultyDevice::Command::kReport); };
  const auto before = looks();
  std::vector<std::size_t> seen;
  ASSERT_TRUE(IsOk(reader_->ForEachLayout(files, [&](std::size_t i, const FileLayout& layout) -> Status {
    seen.push_back(i);
    EXPECT_EQ(layout.frames.size() + layout.extents.size(), 1u) << i;
    return {};
  })));
  EXPECT_LT(looks() - before, kLogs);
  EXPECT_EQ(seen.size(), files.size() - 1);
  EXPECT_EQ(std::ranges::count(seen, 3u), 0);
  std::vector<std::size_t> written;
  ASSERT_TRUE(IsOk(volume_->ForEachLayout(files, [&](std::size_t i, const FileLayout&) -> Status {
    written.push_back(i);
    return {};
  })));
  EXPECT_EQ(written, seen);
}

TEST_F(ReaderTest, DamagedLogsAreLookedAtTogether) {
  constexpr int kLogs = 20;
  std::vector<std::unique_ptr<FileHandle>> logs;
  for (int i = 0; i < kLogs; ++i) logs.push_back(volume_->Create(fmt::format("{}.log", i)).value());
  for (int round = 0; round < 3; ++round) {
    for (const auto& log : logs) {
      ASSERT_TRUE(IsOk(log->Append(AsBytes(std::string(100, 'x')))));
      ASSERT_TRUE(IsOk(log->Sync()));
    }
  }
  std::vector<DeviceOffset> first;
  for (int i = 0; i < kLogs; ++i)
    first.push_back(reader_->Layout(fmt::format("{}.log", i)).value().frames.front().place);
  ASSERT_TRUE(IsOk(reader_->Unmount()));
  auto device = std::make_unique<FaultyDevice>(MakeReadOnlyView(*device_));
  reader_device_ = device.get();
  reader_device_->Inject(
      {.command = FaultyDevice::Command::kRead,
       .times = FaultyDevice::kForEver,
       .bytes = FaultyDevice::Bytes{*std::ranges::min_element(first), *std::ranges::max_element(first) + 1}});
  reader_ = Volume::Mount(std::move(device), {.read_only = true}).value();
  const auto before = reader_device_->count(FaultyDevice::Command::kReport);
  const auto shortfall = reader_->shortfall();
  ASSERT_TRUE(IsOk(shortfall));
  EXPECT_EQ(shortfall->lost_files.size(), kLogs);
  EXPECT_LT(reader_device_->count(FaultyDevice::Command::kReport) - before, kLogs);
}

TEST_F(ReaderTest, ManyReadsAtOnceAreConfirmedTogether) {
  const std::string content = RandomBytes(300'000, 7);
  Put("a.sst", content);
  const auto file = Open("a.sst");
  std::vector<std::string> pieces(5, std::string(5000, '\0'));
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    requests.push_back(
        {.offset = i * 74'000, .into = std::as_writable_bytes(std::span(pieces[i])), .status = {}});
  }
  file->ReadMany(requests);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_TRUE(IsOk(requests[i].status));
    EXPECT_EQ(pieces[i].substr(0, requests[i].into.size()), content.substr(i * 74'000, 5000));
  }
  EXPECT_EQ(requests.back().into.size(), 4000u);
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  OverwriteFreeZones();
  file->ReadMany(requests);
  for (const ReadRequest& request : requests) {
    EXPECT_EQ(CodeOf(request.status), Code::kNotFound);
    EXPECT_TRUE(request.into.empty());
  }
}

TEST_F(ReaderTest, AReadCostsNoMoreThanItsBytesAndTheNewCommits) {
  WaitForLogReserve();
  const std::uint64_t switches = volume_->counters().metalog.switches;
  for (int i = 0; i < 100; ++i) Put("f" + std::to_string(i) + ".sst", "x");
  Put("a.sst", RandomBytes(4096, 8));
  const auto file = Open("a.sst");
  ASSERT_EQ(volume_->counters().metalog.switches, switches) << "a log switch during the reads adds reads";
  AlignedBuffer buffer(4096);
  buffer.Resize(4096);
  const auto reads = [&] {
    const std::uint64_t before = reader_device_->count(FaultyDevice::Command::kRead);
    EXPECT_TRUE(IsOk(file->Read(0, buffer.Span())));
    return reader_device_->count(FaultyDevice::Command::kRead) - before;
  };
  // One read of the block, those of the headers of the metadata zones, and those of new commits; never the whole log.
  EXPECT_LE(reads(), 8u);
  Put("other.sst", "x");
  EXPECT_LE(reads(), 8u);
}

// Like zenfs emu clone: changes the UUID in every superblock, and no frame.
TEST_F(ReaderTest, TheLogsOfACloneAreFound) {
  Put("a.log", RandomBytes(30'000, 11));
  const auto clone = CreateMemoryDevice(SmallGeometry());
  const std::vector<ZoneInfo> report = device_->Report(ZoneId(0), device_->geometry().zone_count).value();
  for (const ZoneInfo& zone : report) {
    AlignedBuffer bytes(zone.capacity);
    bytes.Resize(zone.WrittenBytes());
    if (bytes.empty()) continue;
    ASSERT_TRUE(IsOk(device_->Read(zone.start, bytes.Span())));
    IgnoreError(MakeClone(bytes.Span().first(std::min<std::size_t>(bytes.size(), kSuperblockBytes)),
                          Uuid::Generate()));  // fails for zones that do not begin with a superblock
    ASSERT_TRUE(IsOk(clone->ZonedDevice::Write(zone.start, bytes.View())));
  }
  const auto reader = Volume::Mount(MakeReadOnlyView(*clone), {});
  ASSERT_TRUE(IsOk(reader));
  EXPECT_NE((*reader)->info().superblock.uuid, volume_->info().superblock.uuid);
  const auto file = (*reader)->OpenForRead("a.log");
  ASSERT_TRUE(IsOk(file));
  EXPECT_EQ(ReadAll(**file), RandomBytes(30'000, 11));
}

TEST_F(ReaderTest, SpaceAndZonesAreThoseOfTheWriter) {
  Put("a.sst", RandomBytes(2'000'000, 9));
  Put("b.sst", RandomBytes(1'000'000, 10));
  const std::uint64_t live = volume_->Space().live;
  EXPECT_EQ(reader_->Space().live, live);
  EXPECT_EQ(reader_->Space().total, volume_->Space().total);
  EXPECT_TRUE(Await([&] { return reader_->Space().free == volume_->Space().free; }));  // log zones in transit
  ASSERT_TRUE(IsOk(volume_->Unlink("b.sst")));
  EXPECT_LT(reader_->Space().live, live);
  EXPECT_EQ(reader_->Space().live, volume_->Space().live);
  EXPECT_EQ(reader_->Zones().size(), volume_->Zones().size());
}

TEST_F(ReaderTest, ASmallFileInAnOfflineZoneIsTriedTwiceAndNotForTenSeconds) {
  Put("a.sst", "lost");
  const auto layout = reader_->Layout("a.sst");
  ASSERT_TRUE(IsOk(layout));
  const ZoneId zone = device_->geometry().ZoneOf(layout->extents.front().place);
  ASSERT_TRUE(IsOk(device_->SetCondition(zone, ZoneCondition::kOffline)));
  const auto before = reader_device_->count(FaultyDevice::Command::kRead);
  const auto file = Open("a.sst");
  ASSERT_NE(file, nullptr);
  EXPECT_LT(reader_device_->count(FaultyDevice::Command::kRead), before + 100);
  std::string content(4, '\0');
  EXPECT_FALSE(file->Read(0, std::as_writable_bytes(std::span(content))).ok());
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));  // what is left is sound
}

TEST_F(ReaderTest, HandlesOutliveTheUnmountAndFailCleanly) {
  Put("a.sst", "bytes");
  const auto file = Open("a.sst");
  ASSERT_TRUE(IsOk(reader_->Unmount()));
  EXPECT_EQ(CodeOf(file->Read(0, {})), Code::kShutdown);
  EXPECT_EQ(CodeOf(reader_->List("")), Code::kShutdown);
  EXPECT_EQ(file->size(), 5u);
  // The unmount has destroyed the device.
  auto device = std::make_unique<FaultyDevice>(MakeReadOnlyView(*device_));
  reader_device_ = device.get();
  reader_ = Volume::Mount(std::move(device), {}).value();
}

}  // namespace
}  // namespace zenfs
