#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(AlignedBuffer, MemoryIsAlignedAndRounded) {
  const AlignedBuffer buffer(5000);
  EXPECT_EQ(buffer.capacity(), 8192u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0u);
  EXPECT_EQ(AlignedBuffer().capacity(), 0u);
}

TEST(AlignedBuffer, AppendTakesWhatFits) {
  AlignedBuffer buffer(4096);
  EXPECT_EQ(buffer.Append(AsBytes(std::string_view("abc"))), 3u);
  const std::string large(5000, 'x');
  EXPECT_EQ(buffer.Append(AsBytes(large)), 4093u);
  EXPECT_EQ(buffer.room(), 0u);
  EXPECT_EQ(AsText(buffer.View(0, 4)), "abcx");
}

TEST(AlignedBuffer, PaddingIsZerosAndDroppingMovesTheRest) {
  AlignedBuffer buffer(4096);
  buffer.Append(AsBytes(std::string_view("hello")));
  buffer.PadTo(8);
  EXPECT_EQ(AsText(buffer.View()), std::string_view("hello\0\0\0", 8));
  buffer.DropFront(2);
  EXPECT_EQ(AsText(buffer.View()), std::string_view("llo\0\0\0", 6));
}

}  // namespace
}  // namespace zenfs
