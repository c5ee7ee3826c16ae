// Files that change while reclaim moves them.
#include <map>
#include <memory>
#include <thread>

#include "base/sync_point.h"
#include "base/thread.h"
#include "testing/empty_zone.h"
#include "testing/random_bytes.h"
#include "volume/fsck/scrub.h"
#include "volume/mount/volume_reclaim_test_rig.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

// A change of the file between its copy and the commit of the copy takes precedence.
TEST_F(Reclaim, AFileDeletedWhileItIsCopiedStaysDeleted) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  bool deleted = false;
  {
    SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "ZoneMover::MovePiece:copied" || deleted) return;
      deleted = true;
      for (const auto& [file, content] : std::map(files_)) {
        if (FirstZoneOf(file) == zone) Delete(file);
      }
    });
    EXPECT_EQ(CodeOf(EmptyZone(*volume_, zone)), Code::kBusy);
  }
  EXPECT_TRUE(deleted);
  EXPECT_EQ(CodeOf(volume_->OpenForRead("03.sst")), Code::kNotFound);
  ExpectAllThere();
  Remount();
  ExpectAllThere();
}

TEST_F(Reclaim, AFileRewrittenWhileItIsCopiedKeepsItsNewContent) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  bool done = false;
  {
    SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "ZoneMover::MovePiece:copied" || done) return;
      done = true;
      ASSERT_TRUE(IsOk(TruncateFile(*volume_, "03.sst", 5000)));
      files_["03.sst"].resize(5000);
    });
    IgnoreError(EmptyZone(*volume_, zone));
  }
  EXPECT_TRUE(done);
  ExpectAllThere();
  Remount();
  ExpectAllThere();
}

TEST_F(Reclaim, AFileCutWhileItsMoveIsCommittedKeepsItsChecksums) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  std::map<std::string, std::unique_ptr<FileHandle>> writers;
  for (const auto& [name, content] : files_)
    if (FirstZoneOf(name) == zone) writers[name] = nullptr;
  {
    bool copied = false;
    std::vector<Thread> cuts;
    SyncPoint::Scope scope([&, mover = std::this_thread::get_id()](std::string_view point) {
      if (std::this_thread::get_id() != mover) return;
      copied = copied || point == "ZoneMover::MovePiece:copied";
      if (!copied || point != "Metalog::BatchLead::Write" || writers["03.sst"]) return;
      for (auto& [name, writer] : writers) {
        writer = *volume_->OpenForAppend(name, false);
        // The bytes are cut at once. The commit of that waits for the move.
        cuts.emplace_back("cut", [file = writer.get()] { EXPECT_TRUE(IsOk(file->Truncate(100'000))); });
        files_[name].resize(100'000);
        ASSERT_TRUE(Await([&] { return writer->size() == 100'000; }));
      }
    });
    IgnoreError(EmptyZone(*volume_, zone));  // the other files are being written by then
    for (Thread& cut : cuts) cut.Join();
  }
  ASSERT_TRUE(writers["03.sst"]);
  ExpectAllThere();
  for (auto& [name, writer] : writers) ASSERT_TRUE(IsOk(writer->Close()));
  writers.clear();
  const auto report = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(report->bytes_without_checksum, 0u);
  Remount();
  ExpectAllThere();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  EXPECT_EQ(volume_->Zones()[zone.value].pins, 0u);
}

class ReclaimOfLongExtents : public Reclaim {
 protected:
  ReclaimOfLongExtents() : Reclaim({.zones = 24, .zone_size = 4 << 20}) {}
};

// The append cuts the last block off the extent, of which the mover knew the checksums of all pieces. Simulator, seed 669.
TEST_F(ReclaimOfLongExtents, AFileAppendedToBetweenItsPiecesKeepsFittingChecksums) {
  ASSERT_TRUE(Write("long.sst", 1'844'575, Lifetime::kMedium));
  ASSERT_TRUE(Write("dead.sst", 2'500'000, Lifetime::kMedium));
  const ZoneId zone = FirstZoneOf("long.sst");
  ASSERT_EQ(zone, FirstZoneOf("dead.sst"));
  Delete("dead.sst");
  bool appended = false;
  {
    SyncPoint::Scope scope([&](std::string_view point) {
      if (point != "ZoneMover::MovePiece:copied" || appended) return;
      appended = true;
      const auto writer = volume_->OpenForAppend("long.sst", false);
      ASSERT_TRUE(IsOk(writer));
      ASSERT_TRUE(IsOk((*writer)->Append(AsBytes("more"))));
      ASSERT_TRUE(IsOk((*writer)->Sync()));
      ASSERT_TRUE(IsOk((*writer)->Close()));
      files_["long.sst"] += "more";
    });
    IgnoreError(EmptyZone(*volume_, zone));
  }
  ASSERT_TRUE(appended);
  ExpectAllThere();
  const auto report = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(FirstError(report->findings), nullptr);
}

}  // namespace
}  // namespace zenfs

// Logs that are cleaned into extents while other threads use them.

namespace zenfs {
namespace {

class CleanTest : public VolumeFaultTest {};

// A writer that waits for space may itself have locked the log, if it syncs a file that replaces the log. Here another
// thread has locked it and waits for the device. The log is not cleaned, and the writer waits no longer than it should.
TEST_F(CleanTest, AWriterDoesNotWaitForALogThatIsLockedForLongerThanForSpace) {
  MountFaulty({}, {.space_wait = std::chrono::seconds(1)});
  Put("1.log", RandomBytes(300 << 10, 1));  // so much of its zone that it is cleaned only if space is short
  Put("2.log", RandomBytes(600 << 10, 2));  // the rest of the zone, and more
  ASSERT_TRUE(IsOk(volume_->Unlink("2.log")));
  faulty_->Hold(Command::kFlush);
  const Thread unlinks("unlinks", [this] { EXPECT_TRUE(IsOk(volume_->Unlink("1.log"))); });
  ASSERT_TRUE(faulty_->WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  const auto table = Create("3.sst");
  const std::string piece = RandomBytes(1 << 20, 3);
  Status written;
  for (int i = 0; written.ok(); ++i) {
    ASSERT_LT(i, 100);
    written = table->Append(AsBytes(piece));
  }
  EXPECT_EQ(written.error().code(), Code::kNoSpace);
  faulty_->Release();
}

}  // namespace
}  // namespace zenfs
