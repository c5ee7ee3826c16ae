#include "buffers/announced_zones.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "buffers/buffer_area_test_rig.h"

namespace zenfs {
namespace {

class AnnouncedZonesTest : public BufferAreaTest {
 protected:
  void SetUp() override {
    BufferAreaTest::SetUp();
    auto made = BufferArea::Create({.directory = directory_,
                                    .identity = "file:1:2",
                                    .volume = volume_,
                                    .epoch = 8,
                                    .buffer_bytes = kBufferBytes,
                                    .metrics_bytes = 100,
                                    .zones = 2000});
    ASSERT_TRUE(made) << made.error().ToString();
    writer_ = *std::move(made);
    whose_ = {writer_->place(), "file:1:2", volume_, 8, BootId(), writer_->PlaceEdit().key};
  }

  std::shared_ptr<BufferArea> writer_;
  WhoseBuffers whose_;
};

TEST_F(AnnouncedZonesTest, TheWriterSeesThemWhileTheyAreHeld) {
  const auto reader = AnnouncedZones::Open(whose_);
  ASSERT_NE(reader, nullptr);
  auto one = reader->Announce({ZoneId(1999), ZoneId(3), ZoneId(3)});
  auto other = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  EXPECT_TRUE(writer_->IsRead(ZoneId(1999)));
  EXPECT_FALSE(writer_->IsRead(ZoneId(4)));
  one.reset();
  EXPECT_FALSE(writer_->IsRead(ZoneId(1999)));
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  other.reset();
  EXPECT_FALSE(writer_->IsRead(ZoneId(3)));
}

TEST_F(AnnouncedZonesTest, TwoHoldsOfOneReaderAreIndependent) {
  const auto reader = AnnouncedZones::Open(whose_);
  auto one = reader->Announce({ZoneId(3)});
  auto other = reader->Announce({ZoneId(3)});
  one.reset();
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
}

TEST_F(AnnouncedZonesTest, AResetOfAnyOfThemIsNoticed) {
  const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3), ZoneId(1999)});
  EXPECT_TRUE(hold->NoneWasReset());
  writer_->NoteReset(ZoneId(4));
  EXPECT_TRUE(hold->NoneWasReset());
  writer_->NoteReset(ZoneId(1999));
  EXPECT_FALSE(hold->NoneWasReset());
  EXPECT_TRUE(AnnouncedZones::Open(whose_)->Announce({ZoneId(1999)})->NoneWasReset());
}

TEST_F(AnnouncedZonesTest, NothingIsProvenOnceTheWriterIsGone) {
  const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
  writer_.reset();
  EXPECT_FALSE(hold->NoneWasReset());
  EXPECT_EQ(AnnouncedZones::Open(whose_), nullptr);
  // The next mount takes the file over and locks it, which makes it no maker.
  const auto taken = OpenOrphanedBuffers(whose_);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(hold->NoneWasReset());
}

TEST_F(AnnouncedZonesTest, ThoseOfADeadReaderAreGone) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
    while (::write(ready[1], "r", 1) == 1) ::pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(writer_->IsRead(ZoneId(3)));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(AnnouncedZonesTest, FilesOfOthersAndOfOtherMountsDoNotCount) {
  WhoseBuffers other = whose_;
  other.key[0] ^= 1;
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  other = whose_;
  other.identity = "file:1:3";  // a copy of the device
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  other = whose_;
  other.boot = "another";
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  EXPECT_EQ(AnnouncedZones::Open(Whose()), nullptr) << "this one counts no resets";
}

}  // namespace
}  // namespace zenfs
