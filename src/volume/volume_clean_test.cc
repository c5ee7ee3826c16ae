// Logs that are cleaned into extents, so that their zones come free, while somebody is at work on them.
#include "base/thread.h"
#include "testing/random_bytes.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

class CleanTest : public VolumeFaultTest {};

// A writer that is short of space may have locked the log itself, by syncing a file that takes its last name. Here
// somebody else has, and waits for the device: the log is not cleaned, and the writer waits no longer than it should.
TEST_F(CleanTest, AWriterDoesNotWaitForALogThatIsLockedForLongerThanForSpace) {
  MountFaulty({}, {.space_wait = std::chrono::seconds(1)});
  Put("1.log", RandomBytes(300 << 10, 1));  // as much of its zone as is cleaned only in need
  Put("2.log", RandomBytes(600 << 10, 2));  // the rest of it, and more
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
