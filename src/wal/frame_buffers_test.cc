#include "wal/frame_buffers.h"

#include <gtest/gtest.h>

#include <string>

#include "buffers/buffer_area_test_rig.h"

namespace zenfs {
namespace {

class FrameBuffersTest : public BufferAreaTest {
 protected:
  FrameBuffers Make(const std::shared_ptr<BufferArea>& area) { return {area, kBufferBytes, FileId(7)}; }
  static void AppendTo(FrameBuffers& buffers, std::string_view text) {
    if (buffers.active().empty()) buffers.Begin(1000);
    EXPECT_EQ(buffers.Append(AsBytes(text), 1), text.size());
  }
};

TEST_F(FrameBuffersTest, FileEndsBehindTheActiveBytesElseBehindThoseInFlightElseWithTheIndex) {
  FrameBuffers buffers = Make(nullptr);
  EXPECT_EQ(buffers.End(1000), 1000U);
  AppendTo(buffers, "12345");
  EXPECT_EQ(buffers.End(1000), 1005U);
  buffers.StartFlight();
  EXPECT_EQ(buffers.End(1000), 1005U);
  AppendTo(buffers, "678");
  EXPECT_EQ(buffers.active().file_offset(), 1005U);
  EXPECT_EQ(buffers.End(1000), 1008U);
}

TEST_F(FrameBuffersTest, BytesInFlightStayUntilTheFlightEnds) {
  FrameBuffers buffers = Make(nullptr);
  AppendTo(buffers, "first");
  buffers.StartFlight();
  AppendTo(buffers, "second");
  buffers.StartFlight();
  EXPECT_EQ(buffers.flight().length(), 5U) << "a repeated send sends the same bytes";
  buffers.EndFlight();
  buffers.StartFlight();
  EXPECT_EQ(buffers.flight().length(), 6U);
  EXPECT_TRUE(buffers.active().empty());
}

TEST_F(FrameBuffersTest, CopyTakesTheBytesOfBothBuffersAndSaysWhereTheyBegin) {
  FrameBuffers buffers = Make(nullptr);
  std::string got(12, '.');
  EXPECT_EQ(buffers.CopyTo(998, std::as_writable_bytes(std::span(got)), 1000), 1000U);
  AppendTo(buffers, "12345");
  buffers.StartFlight();
  AppendTo(buffers, "678");
  EXPECT_EQ(buffers.CopyTo(998, std::as_writable_bytes(std::span(got)), 1000), 1000U);
  EXPECT_EQ(got, "..12345678..");
  // After an error the front of the bytes in flight may be in the map, too.
  EXPECT_EQ(buffers.CopyTo(998, std::as_writable_bytes(std::span(got)), 1003), 1000U);
}

TEST_F(FrameBuffersTest, BytesSurviveTheProcessInSharedMemoryOnly) {
  FrameBuffers shared = Make(area_);
  EXPECT_TRUE(shared.survive_process()) << "there are none";
  AppendTo(shared, "bytes");
  EXPECT_TRUE(shared.survive_process());
  FrameBuffers unshared = Make(nullptr);
  AppendTo(unshared, "bytes");
  EXPECT_FALSE(unshared.survive_process());
}

TEST_F(FrameBuffersTest, BytesBehindAGapAreNotPutIntoSharedMemory) {
  AppendBuffer other = Buffer(8, 0, "takes a slot");
  AppendBuffer another = Buffer(9, 0, "takes the last slot");
  FrameBuffers buffers = Make(area_);
  AppendTo(buffers, "no slot is free");
  buffers.StartFlight();
  other.Release();
  AppendTo(buffers, "a slot is free again");
  EXPECT_FALSE(buffers.active().survives_process()) << "a mount would find them behind bytes that are gone";
  buffers.EndFlight();
  buffers.StartFlight();
  buffers.EndFlight();
  buffers.ReleaseMemory();
  AppendTo(buffers, "no gap");
  EXPECT_TRUE(buffers.survive_process());
}

TEST_F(FrameBuffersTest, BufferWithASlotGivesItUpBehindAGap) {
  FrameBuffers buffers = Make(area_);
  AppendTo(buffers, "takes a slot");
  buffers.StartFlight();
  buffers.EndFlight();
  const AppendBuffer other = Buffer(8, 0, "takes the last slot");
  AppendTo(buffers, "no slot is free");
  buffers.StartFlight();
  AppendTo(buffers, "in the buffer of the first bytes");
  EXPECT_FALSE(buffers.active().survives_process());
}

TEST_F(FrameBuffersTest, DrainIsRequestedOnceForEachBufferThatIsHalfFull) {
  FrameBuffers buffers = Make(nullptr);
  for (int round = 0; round < 2; ++round) {
    AppendTo(buffers, "a few bytes");
    EXPECT_FALSE(buffers.TakeDrainRequest());
    AppendTo(buffers, std::string(buffers.active().capacity() / 2, 'x'));
    EXPECT_TRUE(buffers.TakeDrainRequest());
    EXPECT_FALSE(buffers.TakeDrainRequest());
    buffers.StartFlight();
    buffers.EndFlight();
  }
}

TEST_F(FrameBuffersTest, MemoryOfBytesInFlightIsKept) {
  FrameBuffers buffers = Make(nullptr);
  AppendTo(buffers, "kept");
  buffers.StartFlight();
  buffers.ReleaseMemory();
  EXPECT_EQ(buffers.flight().length(), 4U);
  buffers.EndFlight();
  buffers.ReleaseMemory();
  EXPECT_EQ(buffers.flight().capacity(), 0U);
}

}  // namespace
}  // namespace zenfs
