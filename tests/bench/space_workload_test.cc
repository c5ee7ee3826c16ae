// The workloads of the simulation of space: what the files of each look like.
#include <gtest/gtest.h>

#include <map>

#include "overwrites.h"
#include "workload.h"

namespace zenfs::space {
namespace {

using What = TraceEvent::What;

constexpr std::uint64_t kLiveBytes = 4ULL << 30;

struct WorkloadFile {
  TracedKind kind = TracedKind::kOther;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t size = 0;
  bool closed = false;
};

struct Replayed {
  std::map<FileId, WorkloadFile> files;           // that exist
  std::map<Lifetime, std::uint64_t> table_bytes;  // written, by lifetime
  std::uint64_t log_bytes = 0;                    // written
  std::size_t open_max = 0;
};

// Fails the test if an event contradicts the files.
Replayed Replay(std::string_view workload, int events, std::uint64_t seed = 1) {
  const auto source = MakeWorkload(
      workload, {.live_bytes = kLiveBytes, .file_bytes = 1 << 20, .buffer_bytes = 1 << 20, .seed = seed});
  Replayed replayed;
  std::size_t open = 0;
  for (int i = 0; i < events; ++i) {
    const auto event = source->Next();
    EXPECT_TRUE(event.ok() && *event);
    const TraceEvent& it = **event;
    WorkloadFile& file = replayed.files[it.id];
    if (it.what == What::kCreate) {
      EXPECT_EQ(file.size, 0u);
      file = {.kind = it.kind, .lifetime = it.lifetime};
      ++open;
    } else if (it.what == What::kDelete) {
      EXPECT_TRUE(file.closed);
      replayed.files.erase(it.id);
    } else {
      EXPECT_FALSE(file.closed);
      EXPECT_GE(it.bytes, file.size);
      (file.kind == TracedKind::kTable ? replayed.table_bytes[file.lifetime] : replayed.log_bytes) +=
          it.bytes - file.size;
      file.size = it.bytes;
      file.closed = it.what == What::kClose;
      open -= file.closed;
    }
    replayed.open_max = std::max(replayed.open_max, open);
  }
  return replayed;
}

std::uint64_t LiveTables(const Replayed& replayed) {
  std::uint64_t bytes = 0;
  for (const auto& [id, file] : replayed.files) bytes += file.kind == TracedKind::kTable ? file.size : 0;
  return bytes;
}

TEST(SpaceWorkload, LeveledTreeKeepsItsSizeUnderOverwrites) {
  for (const int events : {40'000, 80'000, 160'000}) {
    const double live = static_cast<double>(LiveTables(Replay("leveled", events)));
    EXPECT_NEAR(live / static_cast<double>(kLiveBytes), 1, 0.1) << events;
  }
}

TEST(SpaceWorkload, LeveledTreeWritesMostBytesToItsDeepestLevelsAndEachUserByteToTheLog) {
  const Replayed replayed = Replay("leveled", 200'000);
  EXPECT_GT(replayed.table_bytes.at(Lifetime::kExtreme), replayed.table_bytes.at(Lifetime::kLong));
  EXPECT_GT(replayed.table_bytes.at(Lifetime::kLong), replayed.table_bytes.at(Lifetime::kMedium) / 4);
  EXPECT_FALSE(replayed.table_bytes.contains(Lifetime::kShort));
  EXPECT_FALSE(replayed.table_bytes.contains(Lifetime::kNotSet));
  // A level costs about its multiplier: far more than the log, and not more than all levels at their worst.
  const std::uint64_t tables = LiveTables(replayed);
  const std::uint64_t overwritten = replayed.table_bytes.at(Lifetime::kMedium) +
                                    replayed.table_bytes.at(Lifetime::kLong) +
                                    replayed.table_bytes.at(Lifetime::kExtreme) - tables;
  EXPECT_GT(overwritten, 5 * replayed.log_bytes);
  EXPECT_LT(overwritten, 60 * replayed.log_bytes);
}

TEST(SpaceWorkload, LeveledTreeDeletesItsLogs) {
  const Replayed replayed = Replay("leveled", 100'000);
  std::size_t logs = 0, manifests = 0;
  for (const auto& [id, file] : replayed.files) {
    logs += file.kind == TracedKind::kLog;
    manifests += file.kind == TracedKind::kManifest;
  }
  EXPECT_LE(logs, 4u);
  EXPECT_EQ(manifests, 1u);
}

TEST(SpaceWorkload, SeveralFilesAreWrittenAtATime) {
  EXPECT_GE(Replay("leveled", 100'000).open_max, 5u);
  EXPECT_EQ(Replay("uniform", 50'000).open_max, 8u);
}

TEST(SpaceWorkload, EveryLifetimeOfZipfTakesAQuarterOfTheOverwrites) {
  const Replayed loaded = Replay("zipf", 4096 * 6), later = Replay("zipf", 4096 * 60);
  for (const Lifetime lifetime : {Lifetime::kShort, Lifetime::kMedium, Lifetime::kLong, Lifetime::kExtreme}) {
    std::uint64_t all = 0;
    for (const auto& [each, bytes] : later.table_bytes) all += bytes - loaded.table_bytes.at(each);
    const std::uint64_t its = later.table_bytes.at(lifetime) - loaded.table_bytes.at(lifetime);
    EXPECT_NEAR(static_cast<double>(its) / static_cast<double>(all), 0.25, 0.08) << LifetimeName(lifetime);
  }
}

TEST(SpaceWorkload, ZipfNumbersHaveTheirProbabilities) {
  const ZipfNumbers numbers(1000, 0.99);
  Random random(5);
  int first = 0, first_hundred = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t number = numbers.Draw(random);
    ASSERT_LT(number, 1000u);
    first += number == 0;
    first_hundred += number < 100;
  }
  EXPECT_NEAR(first / double{kDraws}, numbers.ShareBelow(1), 0.01);
  EXPECT_NEAR(first_hundred / double{kDraws}, numbers.ShareBelow(100), 0.02);
}

TEST(SpaceWorkload, UnknownNameGivesNone) { EXPECT_EQ(MakeWorkload("btree", {}), nullptr); }

}  // namespace
}  // namespace zenfs::space
