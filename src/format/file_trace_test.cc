#include "format/file_trace.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs {
namespace {

using What = TraceEvent::What;

TEST(FileTrace, EveryKindOfEventIsReadAsItWasWritten) {
  const std::vector<TraceEvent> events = {
      {.at_ms = 0,
       .what = What::kFile,
       .id = FileId(7),
       .kind = TracedKind::kBlob,
       .lifetime = Lifetime::kLong,
       .bytes = 9},
      {.at_ms = 0, .what = What::kBegin},
      {.at_ms = 3, .what = What::kCreate, .id = FileId(8), .kind = TracedKind::kTable},
      {.at_ms = 3, .what = What::kLifetime, .id = FileId(8), .lifetime = Lifetime::kExtreme},
      {.at_ms = 40, .what = What::kSize, .id = FileId(8), .bytes = 1ULL << 40},
      {.at_ms = 40, .what = What::kClose, .id = FileId(8), .bytes = 5},
      {.at_ms = 41, .what = What::kDelete, .id = FileId(8)},
      {.at_ms = 99, .what = What::kEnd},
  };
  for (const TraceEvent& event : events) {
    const Result<TraceEvent> parsed = ParseTraceEvent(TraceEventText(event));
    ASSERT_TRUE(parsed.ok()) << TraceEventText(event);
    EXPECT_EQ(*parsed, event) << TraceEventText(event);
  }
}

TEST(FileTrace, HeaderIsReadAsItWasWritten) {
  const TraceDevice device{.zone_size = 2ULL << 30,
                           .zone_capacity = 1077ULL << 20,
                           .zones = 904,
                           .metadata_zones = 3,
                           .max_open = 14,
                           .max_active = 14};
  const Result<TraceDevice> parsed = ParseTraceHeader(TraceHeaderText(device));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, device);
}

TEST(FileTrace, AnotherVersionIsRefused) {
  const Result<TraceDevice> parsed = ParseTraceHeader("zenfs-trace 2 anything");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), Code::kNotSupported);
}

TEST(FileTrace, DamagedLinesAreRefused) {
  for (const char* line :
       {"", "x", "1", "1 create", "1 create 2", "1 create 2 table", "1 create 2 table mediu", "1 size 2 -3",
        "1 size 2 3 4", "1 size  3", "99999999999999999999 begin", "1 delete 2x"}) {
    EXPECT_FALSE(ParseTraceEvent(line).ok()) << line;
  }
  for (const char* line : {"", "zenfs", "zenfs-trace", "zenfs-trace 1", "zenfs-trace 1 zone_size=x"}) {
    EXPECT_FALSE(ParseTraceHeader(line).ok()) << line;
  }
}

TEST(FileTrace, KindsFollowTheNamesOfRocksDb) {
  EXPECT_EQ(TracedKindOf("000012.sst"), TracedKind::kTable);
  EXPECT_EQ(TracedKindOf("000012.blob"), TracedKind::kBlob);
  EXPECT_EQ(TracedKindOf("000012.log"), TracedKind::kLog);
  EXPECT_EQ(TracedKindOf("MANIFEST-000005"), TracedKind::kManifest);
  EXPECT_EQ(TracedKindOf("LOG.old.17"), TracedKind::kInfoLog);
  EXPECT_EQ(TracedKindOf("OPTIONS-000007"), TracedKind::kOther);
  EXPECT_FALSE(IsFramed(TracedKind::kTable));
  EXPECT_TRUE(IsFramed(TracedKind::kLog));
}

}  // namespace
}  // namespace zenfs
