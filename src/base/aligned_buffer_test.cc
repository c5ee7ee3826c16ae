#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace zenfs {
namespace {

TEST(AlignedBuffer, MemoryIsAlignedAndRounded) {
  const AlignedBuffer buffer(5000);
  EXPECT_EQ(buffer.capacity(), 8192u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0u);
  EXPECT_EQ(AlignedBuffer().capacity(), 0u);
}

// Frames of all sizes, also of some that end before the last one did, leave zeros behind them.
TEST(AlignedBuffer, BytesBehindTheSizeAreZeroHoweverTheBufferWasUsedBefore) {
  AlignedBuffer buffer(16384);
  std::memset(buffer.Whole().data(), 0xee, buffer.capacity());
  const std::vector<std::byte> bytes(12000, std::byte{0xaa});
  for (const std::size_t size : {100, 200, 50, 5000, 120, 4095, 4096, 12000, 60, 8000, 60}) {
    buffer.Clear();
    buffer.Append(std::span(bytes).first(size / 2));
    buffer.Append(std::span(bytes).first(size - size / 2));
    const std::size_t end = RoundUp(size, std::size_t{4096});
    buffer.ZeroBehind(end);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(std::ranges::all_of(buffer.View(0, size), [](std::byte b) { return b == std::byte{0xaa}; }));
    const ByteView behind = buffer.View(size, end - size);
    EXPECT_TRUE(std::ranges::all_of(behind, [](std::byte b) { return b == std::byte{}; })) << size;
  }
  buffer.Resize(100);
  buffer.ZeroBehind(4096);
  buffer.data()[200] = std::byte{1};  // a caller may write anywhere
  buffer.ZeroBehind(4096);
  EXPECT_EQ(buffer.data()[200], std::byte{});
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
