// A framed file after an error: the repairs of a later call, and the file that a mount finds before and
// after each step.
#include <gtest/gtest.h>

#include <atomic>

#include "base/random.h"
#include "base/thread.h"
#include "device/guarded_device.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;
using When = FaultyDevice::When;

constexpr std::uint64_t kForEver = FaultyDevice::kForEver;

TEST(FramedFileRetryTest, FrameThatCouldNotBePlacedGoesToTheDeviceWithTheNextSync) {
  WalRig rig(TestGeometry(16, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "good").ok());
  ASSERT_TRUE(file->Sync().ok());
  rig.device.Inject({.command = Command::kWrite, .times = 100});
  ASSERT_TRUE(Append(*file, ", late").ok());
  ASSERT_FALSE(file->Sync().ok());
  EXPECT_EQ(WalRig::Content(*file), "good, late") << "appended bytes stay readable";
  EXPECT_EQ(rig.Recovered(file->id()), "good");
  EXPECT_FALSE(file->SealOfOpenWindow()) << "bytes are missing";
  EXPECT_EQ(file->Sync().error().code(), Code::kIo) << "sent again, and failed again";
  rig.device.ClearFaults();
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig.Recovered(file->id()), "good, late");
  ASSERT_TRUE(Append(*file, ", more").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig.Recovered(file->id()), "good, late, more");
}

TEST(FramedFileRetryTest, FlushAppendAndTruncationMakeUpForItToo) {
  WalRig rig(TestGeometry(64, 16));
  rig.Mount();
  const std::function<void(FramedFile&)> calls[] = {
      [](FramedFile& file) { EXPECT_TRUE(file.Flush().ok()); },
      [](FramedFile& file) { EXPECT_TRUE(file.WriteBack().ok()); },
      [](FramedFile& file) {
        EXPECT_TRUE(Append(file, "e").ok());
        EXPECT_TRUE(file.WriteBack().ok());
      },
      [&](FramedFile& file) {
        auto rewrite = file.BeginTruncate(4);
        ASSERT_TRUE(rewrite);
        rewrite->End(rig.Commit(rewrite->edits()));
      }};
  for (const auto& call : calls) {
    const auto file = rig.NewFile();
    ASSERT_TRUE(Append(*file, "abcd").ok());
    rig.device.Inject({.command = Command::kWrite, .times = 3});
    ASSERT_FALSE(file->WriteBack().ok());
    call(*file);
    EXPECT_EQ(rig.Recovered(file->id()), WalRig::Content(*file));
  }
}

TEST(FramedFileRetryTest, AppendThatFailedIsFinalAndWhatWasTakenBeforeIsNot) {
  WalRig rig(TestGeometry(32, 16));
  rig.buffer_bytes = 8 << 10;
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "taken").ok());
  rig.device.Inject({.command = Command::kWrite, .times = 100});
  EXPECT_EQ(Append(*file, TestText(40'000, 1)).error().code(), Code::kIo);
  rig.device.ClearFaults();
  EXPECT_EQ(Append(*file, "more").error().code(), Code::kIo) << "it would follow half an append";
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig.Recovered(file->id()), WalRig::Content(*file));
  EXPECT_EQ(rig.Recovered(file->id()).substr(0, 5), "taken");
}

TEST(FramedFileRetryTest, PartThatWasPlacedIsNotWrittenAgain) {
  WalRig rig(TestGeometry(32, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  const std::string text = TestText(5 * kTestBlock, 1);  // more than a zone
  ASSERT_TRUE(Append(*file, text).ok());
  // Not a number of times: a frame that had to wait for its next zone has all its tries once more.
  rig.device.Inject({.command = Command::kWrite, .kth = 2, .times = kForEver});
  ASSERT_FALSE(file->Sync().ok());
  rig.device.ClearFaults();
  ASSERT_EQ(file->Pieces().size(), 1U);
  const Piece first = file->Pieces().front();
  EXPECT_EQ(WalRig::Content(*file), text);
  EXPECT_EQ(rig.Recovered(file->id()), text.substr(0, first.length));
  ASSERT_TRUE(Append(*file, "behind").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(file->Pieces().front().place, first.place);
  EXPECT_EQ(rig.Recovered(file->id()), text + "behind");
}

// Zones have four blocks, so the parts of a failed frame and of the next try end at different places. The
// test checks before and after each try what a mount would find.
TEST(FramedFileRetryTest, PartsThatLandedAllTheSameHideNothing) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    WalRig rig(TestGeometry(80, 4), 2);
    rig.Mount();
    const auto file = rig.NewFile();
    const auto other = rig.NewFile();
    std::string content;
    for (int i = 0; i < 12; ++i) {
      const std::string text = TestText(1 + random.Below(5 * kTestBlock), random.Next());
      ASSERT_TRUE(Append(*file, text).ok());
      const std::string before = content;
      content += text;
      const When when = std::array{When::kBefore, When::kAfter, When::kPartly}[random.Below(3)];
      rig.device.Inject({.command = Command::kWrite,
                         .kth = 1 + random.Below(3),
                         .times = 3 + random.Below(4),
                         .when = when});
      for (bool synced = false; !synced;) {
        synced = file->Sync().ok();
        const std::string found = rig.Recovered(file->id());
        ASSERT_TRUE(content.starts_with(found)) << "seed " << seed;
        ASSERT_GE(found.size(), synced ? content.size() : before.size()) << "seed " << seed;
        ASSERT_EQ(WalRig::Content(*file), content);
        if (synced || !random.OneIn(2)) continue;
        // Frames of another file, so that the zone ends at another place.
        IgnoreError(Append(*other, TestText(random.Below(2 * kTestBlock), 1)));
        IgnoreError(other->WriteBack());
      }
      rig.device.ClearFaults();
    }
  }
}

TEST(FramedFileRetryTest, FrameThatAFlushMayHaveLostIsWrittenAnewAsItWas) {
  WalRig rig(TestGeometry(16, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "stable, ").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(Append(*file, "written before, ").ok());
  ASSERT_TRUE(file->WriteBack().ok());
  ASSERT_TRUE(Append(*file, "in this sync").ok());
  rig.device.Inject({.command = Command::kFlush});
  ASSERT_FALSE(file->Sync().ok());
  const std::vector<Piece> before = file->Pieces();
  ASSERT_EQ(before.size(), 3U);
  ASSERT_TRUE(file->Sync().ok());
  const std::vector<Piece> after = file->Pieces();
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after[0].place, before[0].place) << "that frame was stable";
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_NE(after[i].place, before[i].place);
    EXPECT_EQ(after[i].sequence, before[i].sequence);
    EXPECT_EQ(after[i].length, before[i].length);
  }
  EXPECT_EQ(rig.Recovered(file->id()), "stable, written before, in this sync");
  ASSERT_TRUE(Append(*file, ", more").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig.Recovered(file->id()), WalRig::Content(*file));
}

TEST(FramedFileRetryTest, FrameThatIsWrittenAnewIsReadOnlyIfItIsNotInTheBuffer) {
  WalRig rig(TestGeometry(16, 16));
  rig.Mount();
  for (const bool written_before : {false, true}) {
    const auto file = rig.NewFile();
    ASSERT_TRUE(Append(*file, "abc").ok());
    if (written_before) {
      ASSERT_TRUE(file->WriteBack().ok());
    }
    rig.device.Inject({.command = Command::kFlush});
    ASSERT_FALSE(file->Sync().ok());
    rig.device.Inject({.command = Command::kRead, .times = kForEver});
    const Status again = file->Sync();
    EXPECT_EQ(again.ok(), !written_before);
    if (!again.ok()) {
      EXPECT_NE(again.error().text().find("which a flush may have lost"), std::string::npos);
    }
    rig.device.ClearFaults();
    EXPECT_TRUE(file->Sync().ok());
    EXPECT_EQ(rig.Recovered(file->id()), "abc");
  }
}

TEST(FramedFileRetryTest, WriteThatFailsWhileFramesAreWrittenAnewIsMadeUpForToo) {
  for (std::uint64_t kth = 1; kth <= 3; ++kth) {
    WalRig rig(TestGeometry(32, 4));
    rig.Mount();
    const auto file = rig.NewFile();
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(Append(*file, TestText(1 + 2 * kTestBlock, i)).ok());
      ASSERT_TRUE(file->WriteBack().ok());
    }
    rig.device.Inject({.command = Command::kFlush});
    ASSERT_FALSE(file->Sync().ok());
    rig.device.Inject({.command = Command::kWrite, .kth = kth, .times = 3, .when = When::kAfter});
    ASSERT_FALSE(file->Sync().ok());
    EXPECT_EQ(rig.Recovered(file->id()), WalRig::Content(*file));
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(Append(*file, "more").ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(rig.Recovered(file->id()), WalRig::Content(*file));
  }
}

TEST(FramedFileRetryTest, BytesThatAFlushMayHaveLostAreNotCleaned) {
  WalRig rig(TestGeometry(16, 16));
  rig.Mount();
  const auto guarded = GuardDevice(rig.device);  // counts failed flushes
  FramedFile::Deps deps = rig.FileDeps();
  deps.device = guarded.get();
  const FileId id = rig.NewFile()->id();
  FramedFile file(deps, id);
  ASSERT_TRUE(Append(file, TestText(100, 1)).ok());
  ASSERT_TRUE(file.WriteBack().ok());
  const ZoneId zone = rig.ZoneOf(file.Pieces().front().place);
  const CleaningRange chosen_before = file.RangeToClean(zone);
  rig.device.Inject({.command = Command::kFlush});
  EXPECT_FALSE(guarded->Flush().ok());  // of another caller
  const CleaningRange chosen_after = file.RangeToClean(zone);
  EXPECT_FALSE(file.SealOfOpenWindow());
  EXPECT_EQ(file.BeginCleaning(chosen_before, {}).error().code(), Code::kBusy);
  EXPECT_EQ(file.BeginCleaning(chosen_after, {}).error().code(), Code::kBusy);
  EXPECT_FALSE(file.Sync().ok()) << "the error is returned once";
  ASSERT_TRUE(file.Sync().ok());
  EXPECT_EQ(file.BeginCleaning(chosen_before, {}).error().code(), Code::kBusy)
      << "the bytes were read while they were doubtful";
  EXPECT_EQ(file.BeginCleaning(chosen_after, {}).error().code(), Code::kBusy);
  EXPECT_TRUE(file.SealOfOpenWindow());
  const CleaningRange sound = file.RangeToClean(rig.ZoneOf(file.Pieces().front().place));
  auto cleaning = file.BeginCleaning(sound, {});
  ASSERT_TRUE(cleaning);
  cleaning->End(Fail(Code::kIo, "not committed"));
}

TEST(FramedFileRetryTest, SyncsOfSeveralThreadsThatSucceedAreTrueWhileTheDeviceFailsNowAndThen) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    WalRig rig(TestGeometry(200, 8), 2);
    rig.Mount();
    const auto file = rig.NewFile();
    const std::string text = TestText(60'000, seed);
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> appended = 0;
    std::vector<Thread> threads;
    for (std::uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back("syncer", [&, i] {
        Random random(seed * 10 + i);
        while (!done) {
          const std::uint64_t before = appended;
          if (!file->Sync().ok()) continue;
          const std::string found = rig.Recovered(file->id());
          EXPECT_GE(found.size(), before);
          EXPECT_TRUE(text.starts_with(found)) << found.substr(0, 200);
        }
      });
    }
    Random random(seed);
    while (appended < text.size()) {
      if (random.OneIn(4)) {
        const bool write = random.OneIn(2);
        rig.device.Inject({.command = write ? Command::kWrite : Command::kFlush,
                           .times = write ? 3U : 1U,
                           .when = random.OneIn(2) ? When::kBefore : When::kAfter});
      }
      const std::uint64_t length = std::min<std::uint64_t>(1 + random.Below(3000), text.size() - appended);
      if (!Append(*file, std::string_view(text).substr(appended, length)).ok()) break;
      appended += length;
      if (random.OneIn(3)) IgnoreError(file->Sync());
    }
    done = true;
    threads.clear();
    rig.device.ClearFaults();
    ASSERT_TRUE(file->Sync().ok());
    const std::string found = rig.Recovered(file->id());
    EXPECT_GE(found.size(), appended);
    EXPECT_TRUE(text.starts_with(found)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace zenfs
