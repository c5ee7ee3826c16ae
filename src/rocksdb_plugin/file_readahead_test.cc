#include "rocksdb_plugin/file_readahead.h"

#include <gtest/gtest.h>

#include <string>

namespace zenfs {
namespace {

constexpr std::uint64_t kKib = 1024;

class FileReadaheadTest : public testing::Test {
 protected:
  // "offset+length" in KiB, or nothing.
  std::string Next(std::uint64_t offset_kib, std::uint64_t kib) {
    const auto range = readahead_.Next(offset_kib * kKib, kib * kKib);
    if (range.length == 0) return "";
    return std::to_string(range.offset / kKib) + "+" + std::to_string(range.length / kKib);
  }
  FileReadahead readahead_;
};

TEST_F(FileReadaheadTest, ReadsAnywhereAreNotReadAhead) {
  for (const std::uint64_t at : {40, 8, 16, 100, 13, 64}) EXPECT_EQ(Next(at, 4), "") << at;
}

TEST_F(FileReadaheadTest, ASecondReadInOrderBeginsAWindowThatDoubles) {
  EXPECT_EQ(Next(0, 4), "");
  EXPECT_EQ(Next(4, 4), "8+64");
  std::string windows;
  for (std::uint64_t at = 8; at < 400; at += 4) {
    if (const std::string window = Next(at, 4); !window.empty()) windows += window + " ";
  }
  EXPECT_EQ(windows, "72+128 200+256 456+512 ");
}

TEST_F(FileReadaheadTest, AWindowIsAtMostAMebibyte) {
  std::uint64_t longest = 0;
  for (std::uint64_t at = 0; at < 64'000; at += 16)
    longest = std::max(longest, readahead_.Next(at * kKib, 16 * kKib).length);
  EXPECT_EQ(longest, FileReadahead::kLargestWindow);
}

// A compaction reads a file in order while users read it.
TEST_F(FileReadaheadTest, OtherReadsDoNotEndAStream) {
  EXPECT_EQ(Next(0, 4), "");
  EXPECT_EQ(Next(4, 4), "8+64");
  std::string windows;
  for (std::uint64_t at = 8; at < 200; at += 4) {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(Next(10'000 + 100 * at + 10 * static_cast<std::uint64_t>(i), 4), "");
    if (const std::string window = Next(at, 4); !window.empty()) windows += window + " ";
  }
  EXPECT_EQ(windows, "72+128 200+256 ");
}

TEST_F(FileReadaheadTest, EachByteIsReadAheadOnce) {
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at < 4000; at += 4) {
    const auto range = readahead_.Next(at * kKib, 4 * kKib);
    if (range.length == 0) continue;
    EXPECT_TRUE(end == 0 || range.offset == end) << range.offset;
    end = range.offset + range.length;
  }
}

}  // namespace
}  // namespace zenfs
