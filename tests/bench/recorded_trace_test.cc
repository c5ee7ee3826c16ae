// Traces as the simulation of space reads them: whole, torn, damaged and continued.
#include "recorded_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "testing/temp_directory.h"

namespace zenfs::space {
namespace {

constexpr std::string_view kHeader =
    "zenfs-trace 1 zone_size=16777216 zone_capacity=12582912 zones=64 metadata_zones=3 block_size=4096 "
    "max_open=14 max_active=14\n";

class RecordedTraceTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  // The events as lines; the error as the last one.
  std::vector<std::string> EventsOf(const std::string& text, std::uint64_t scale = 1) {
    auto trace = RecordedTrace::Open(Write(text), scale);
    if (!trace) return {trace.error().ToString()};
    std::vector<std::string> events;
    for (;;) {
      const auto event = (*trace)->Next();
      if (!event) events.push_back(event.error().ToString());
      if (!event || !*event) return events;
      events.push_back(TraceEventText(**event));
    }
  }
  // The only line, which contains `part`.
  void ExpectError(const std::string& text, std::string_view part) {
    const std::vector<std::string> events = EventsOf(text);
    ASSERT_FALSE(events.empty());
    EXPECT_NE(events.back().find(part), std::string::npos) << events.back();
    EXPECT_NE(events.back().find(path_), std::string::npos) << events.back();
    EXPECT_EQ(events.back().find('\n'), std::string::npos);
  }

  const TempDirectory directory_;
  const std::string path_ = directory_.path() + "/trace";
};

using Lines = std::vector<std::string>;

TEST_F(RecordedTraceTest, FilesThatTheMountFoundAreCreatedFirst) {
  EXPECT_EQ(EventsOf(std::string(kHeader) +
                     "0 file 7 table long 5000\n0 begin\n3 create 8 log short\n4 size 8 70\n9 end\n"),
            (Lines{"0 create 7 table long", "0 close 7 5000", "3 create 8 log short", "4 size 8 70"}));
}

TEST_F(RecordedTraceTest, ScaleMultipliesSizes) {
  EXPECT_EQ(EventsOf(std::string(kHeader) + "0 begin\n3 create 8 log short\n4 size 8 70\n", 100).back(),
            "4 size 8 7000");
}

TEST_F(RecordedTraceTest, TornLastLineIsIgnored) {
  EXPECT_EQ(EventsOf(std::string(kHeader) + "0 begin\n3 create 8 log short\n4 size 8 7"),
            (Lines{"3 create 8 log short"}));
  EXPECT_EQ(EventsOf(std::string(kHeader) + "0 begin\n3 create 8 log short\n4 si"),
            (Lines{"3 create 8 log short"}));
}

TEST_F(RecordedTraceTest, NextMountDeletesFilesThatItDoesNotName) {
  EXPECT_EQ(EventsOf(std::string(kHeader) +
                     "0 begin\n3 create 8 table long\n4 close 8 70\n5 create 9 log short\n5 si\n" +
                     std::string(kHeader) + "0 file 8 table long 90\n1 begin\n2 delete 8\n"),
            (Lines{"3 create 8 table long", "4 close 8 70", "5 create 9 log short", "5 close 8 90",
                   "6 delete 9", "7 delete 8"}));
}

TEST_F(RecordedTraceTest, DamagedTracesAreRefusedWithTheLine) {
  const std::string begun = std::string(kHeader) + "0 begin\n";
  ExpectError("Dear reader\n", "is not a trace");
  ExpectError("", "is not a trace");
  ExpectError("zenfs-trace 9 x\n", "version 9");
  ExpectError(begun + "1 size 5 x\n2 end\n", "line 3 is damaged");
  ExpectError(begun + "1 delete 5\n", "line 3 is damaged: there is no such file");
  ExpectError(begun + "1 create 5 log short\n1 create 5 log short\n", "line 4 is damaged");
  ExpectError(std::string(kHeader) + "1 create 5 log short\n", "before begin");
  ExpectError(
      "zenfs-trace 1 zone_size=0 zone_capacity=0 zones=0 metadata_zones=0 block_size=0 max_open=0 "
      "max_active=0\n",
      "geometry");
}

TEST_F(RecordedTraceTest, MissingTraceIsNamed) {
  const auto trace = RecordedTrace::Open("/nowhere/trace");
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().ToString().find("/nowhere/trace: there is no such trace"), std::string::npos);
}

}  // namespace
}  // namespace zenfs::space
