// Logs that are cleaned into extents while other threads use them.
#include "base/thread.h"
#include "testing/random_bytes.h"
#include "volume/volume_fault_test_rig.h"

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
