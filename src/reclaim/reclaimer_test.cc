// The collector's reactions to what a move returns, the verdicts that waiting writers get, and its pace.
#include "reclaim/reclaimer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kZones = 12;
constexpr std::uint64_t kBlocks = 64;  // of a zone

// The collector's thread calls both.
struct LogOfCollector {
  std::function<LogView()> look = [] { return LogView(); };
  std::function<bool()> return_spare = [] { return false; };
};

// A collector without a volume: `empty_zone` takes the place of the mover.
class RunningSearch {
 public:
  RunningSearch(ZoneManager& zones, std::function<Status(ZoneId)> empty_zone, bool all_held = false,
                LogOfCollector log = {})
      : held(all_held),
        log_(std::move(log)),
        empty_zone_(std::move(empty_zone)),
        zones_(zones),
        thread_("collector", [this] { Run(); }) {}
  ~RunningSearch() {
    zones_.Stop();
    thread_.Join();
  }

  std::atomic<bool> held;  // all zones
  std::atomic<bool> can_commit = true;
  std::function<std::uint64_t(ZoneId)> restated;  // set it before there is a need

 private:
  void Run() {
    VictimSearch search(kTestBlock);
    Deadline again = Deadline::Never();
    while (!zones_.stopped()) {
      const std::optional<ReclaimNeed> need = zones_.AwaitReclaimNeed(again);
      again = Deadline::Never();
      if (!need) continue;
      LogView log = log_.look();
      search.Begin(*need, std::move(log), zones_.Zones());
      const std::optional<Victim> victim =
          search.Choose([this](ZoneId) { return held.load(); },
                        [this](const Victim& each) { return restated ? restated(each.zone) : 0; });
      if (victim) {
        const Status emptied = empty_zone_(victim->zone);
        search.Note(*victim, emptied, zones_.Zone(victim->zone).live == 0);
        continue;
      }
      if (need->urgency == ReclaimUrgency::kUrgent && log_.return_spare()) continue;
      const ReclaimVerdict verdict = search.Verdict(can_commit);
      if (verdict.pending) again = Deadline::After(std::chrono::milliseconds(10));
      zones_.SetReclaimVerdict(verdict);
    }
  }

  const LogOfCollector log_;
  const std::function<Status(ZoneId)> empty_zone_;
  ZoneManager& zones_;
  Thread thread_;  // last: it uses the others
};

// A device on which all zones except the headroom's are full and half dead.
class ReclaimerTest : public ::testing::Test {
 protected:
  ReclaimerTest() : device_(CreateMemoryDevice(TestGeometry(kZones, kBlocks, 0))) {
    const auto plan = PlanSlots(device_->geometry(), device_->name());
    auto report = device_->Report(ZoneId(0), kZones);
    zones_ = *ZoneManager::Create(*device_, *plan, *std::move(report),
                                  {.log = {}, .reclaims = true, .headroom = true});
    EXPECT_TRUE(zones_->Start().ok());
    sink_ = std::make_unique<ExtentSink>(*zones_);
    memory_ = AlignedBuffer(kBlocks * kTestBlock);
    for (std::uint32_t zone = 0; zone + 1 < kZones; ++zone) {
      for (int half = 0; half < 2; ++half) Fill(half == 0 ? dead_ : live_, kBlocks / 2);
    }
    zones_->RemoveLive(dead_);
  }
  void Fill(std::vector<Extent>& extents, std::uint64_t blocks) {
    const ByteView bytes = memory_.View(0, blocks * kTestBlock);
    const auto placed = sink_->Write(cursor_, Lifetime::kMedium, {&bytes, 1}, Soon());
    ASSERT_TRUE(placed) << placed.error().ToString();
    ASSERT_EQ(placed->length, bytes.size());
    extents.push_back({0, placed->place, placed->length});
    zones_->AddLive({&extents.back(), 1});
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

  Result<ZoneWriter> Acquire(Deadline deadline) {
    ZoneClaim claim;
    return zones_->AllocateData(claim, Lifetime::kMedium, deadline);
  }

  // Returns the number of attempts before kNoSpace if each attempt returns `end`.
  std::uint32_t TriesThatEnd(const Status& end) {
    std::atomic<std::uint32_t> calls = 0;
    RunningSearch running(*zones_, [&](ZoneId) {
      ++calls;
      return end;
    });
    const auto writer = Acquire(Soon());
    EXPECT_EQ(writer ? Code::kBusy : writer.error().code(), Code::kNoSpace);
    return calls;
  }

  std::unique_ptr<EmulatorDevice> device_;
  std::unique_ptr<ZoneManager> zones_;
  std::unique_ptr<ExtentSink> sink_;
  SinkCursor cursor_;
  AlignedBuffer memory_;
  std::vector<Extent> dead_;
  std::vector<Extent> live_;
};

TEST_F(ReclaimerTest, AWaitingWriterGetsTheEmptiedZone) {
  std::atomic<int> emptied = 0;
  RunningSearch running(*zones_, [&](ZoneId zone) -> Status {
    ++emptied;
    for (const Extent& extent : live_) {
      if (device_->geometry().ZoneOf(extent.place) == zone) zones_->RemoveLive({&extent, 1});
    }
    return {};
  });
  const auto writer = Acquire(Soon());
  EXPECT_TRUE(writer) << writer.error().ToString();
  EXPECT_GE(emptied, 1);
}

// Nearly dead zones are emptied at leisure, until a writer waits.
TEST_F(ReclaimerTest, ItHurriesOnceAWriterWaits) {
  zones_->RemoveLive({live_.data(), 3});
  live_.erase(live_.begin(), live_.begin() + 3);
  ReclaimPace pace(*zones_, ReclaimUrgency::kTidy);
  const SteadyTime begin = SteadyNow();
  pace.Pause(std::chrono::milliseconds(10));
  EXPECT_GE(SteadyNow() - begin, std::chrono::milliseconds(30)) << "space is not short";
  Thread writer("writer", [&] {
    const ByteView bytes = memory_.View(0, kBlocks * kTestBlock);
    for (;;) {
      const auto placed = sink_->Write(cursor_, Lifetime::kMedium, {&bytes, 1}, Soon());
      if (!placed) break;
      const Extent written{0, placed->place, placed->length};
      zones_->AddLive({&written, 1});
    }
  });
  const Deadline soon = Soon();
  while (!zones_->reclaim_presses() && !soon.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  const SteadyTime waits = SteadyNow();
  for (int i = 0; i < 100; ++i) pace.Pause(std::chrono::seconds(1));
  EXPECT_LT(SteadyNow() - waits, std::chrono::seconds(2)) << "a pause takes up to 50 ms";
  zones_->Stop();
  writer.Join();
}

// The first nearly dead zones have files of very many extents, in a volume of another.
TEST_F(ReclaimerTest, ZonesThatRestateMuchAreEmptiedOnlyIfSpaceIsShort) {
  zones_->RemoveLive({live_.data(), 7});
  live_.erase(live_.begin(), live_.begin() + 7);
  std::vector<Extent> dying;
  std::vector<ZoneId> nearly_dead;
  for (int i = 0; i < 3; ++i) {
    Fill(dying, kBlocks - 2);
    Fill(live_, 2);
    nearly_dead.push_back(device_->geometry().ZoneOf(live_.back().place));
  }
  Mutex mutex;
  std::vector<ZoneId> emptied;
  std::map<ZoneId, int> asked;
  RunningSearch running(*zones_, [&](ZoneId zone) -> Status {
    for (const Extent& extent : live_) {
      if (device_->geometry().ZoneOf(extent.place) == zone) zones_->RemoveLive({&extent, 1});
    }
    MutexLock lock(mutex);
    emptied.push_back(zone);
    return {};
  });
  running.restated = [&](ZoneId zone) -> std::uint64_t {
    MutexLock lock(mutex);
    ++asked[zone];
    return zone == nearly_dead[2] ? 0 : 100 * kTestBlock;
  };
  const auto emptied_so_far = [&] {
    MutexLock lock(mutex);
    return emptied;
  };
  zones_->TidyData();
  zones_->RemoveLive(dying);
  const Deadline soon = Soon();
  while (emptied_so_far().empty() && !soon.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  EXPECT_EQ(emptied_so_far(), std::vector<ZoneId>{nearly_dead[2]});
  std::vector<Extent> more;
  for (int zones = 0; zones < 7; ++zones) Fill(more, kBlocks);
  EXPECT_GE(emptied_so_far().size(), 2u) << "writers waited";
  MutexLock lock(mutex);
  for (const auto& [zone, times] : asked) EXPECT_EQ(times, 1) << zone.value;
}

// A log with very many windows.
TEST_F(ReclaimerTest, LogZonesThatRestateMuchAreLeftWhileSpaceIsNotShort) {
  zones_->RemoveLive({live_.data(), 7});
  live_.erase(live_.begin(), live_.begin() + 7);
  constexpr std::uint64_t kCapacity = kBlocks * kTestBlock;
  const ZoneId log(1);
  const LiveFrames frames{.device_bytes = kTestBlock, .payload = 100};
  const LogView view{.zones = {{.zone = log,
                                .generation = 7,
                                .capacity = kCapacity,
                                .written = kCapacity,
                                .live = frames,
                                .closed = true}},
                     .files = {{{log, frames}}},
                     .complete = true};
  Mutex mutex;
  bool asked = false;
  bool emptied = false;
  const auto done = [&] {
    MutexLock lock(mutex);
    return asked || emptied;
  };
  const auto empty_zone = [&](ZoneId) -> Status {
    MutexLock lock(mutex);
    emptied = true;
    return Fail(Code::kCorruption, "not again");
  };
  RunningSearch running(*zones_, empty_zone, false, {.look = [&] { return view; }});
  running.restated = [&](ZoneId zone) {
    MutexLock lock(mutex);
    asked = asked || zone == log;
    return kCapacity;
  };
  zones_->AskToTidy();
  const Deadline soon = Soon();
  while (!done() && !soon.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  MutexLock lock(mutex);
  EXPECT_TRUE(asked);
  EXPECT_FALSE(emptied);
}

// No file owns the live bytes, as after damage, or a writer committed more meanwhile.
TEST_F(ReclaimerTest, AZoneThatStaysLiveIsTriedThreeTimes) { EXPECT_EQ(TriesThatEnd({}), 3 * (kZones - 1)); }

TEST_F(ReclaimerTest, AZoneThatFailsIsTriedThreeTimes) {
  EXPECT_EQ(TriesThatEnd(Fail(Code::kIo, "unreadable")), 3 * (kZones - 1));
}

TEST_F(ReclaimerTest, ADamagedZoneIsTriedOnce) {
  EXPECT_EQ(TriesThatEnd(Fail(Code::kCorruption, "not what was written")), kZones - 1);
}

TEST_F(ReclaimerTest, ADamagedZoneIsTriedAgainAfterItsReset) {
  std::atomic<std::uint32_t> calls = 0;
  std::atomic<bool> sound = false;
  RunningSearch running(*zones_, [&](ZoneId) -> Status {
    ++calls;
    if (!sound) return Fail(Code::kCorruption, "not what was written");
    zones_->RemoveLive({&live_.back(), 1});
    return {};
  });
  ASSERT_EQ(Acquire(Soon()).error().code(), Code::kNoSpace);
  ASSERT_EQ(calls, kZones - 1);
  // One zone dies and is reset, and the empty zone is filled. Then another zone dies, and the first one is filled
  // again.
  const ZoneId first = device_->geometry().ZoneOf(live_.front().place);
  std::vector<Extent> garbage;
  for (std::size_t dies = 0; dies < 2; ++dies) {
    zones_->RemoveLive({&live_[dies], 1});
    Fill(garbage, kBlocks / 2);
    Fill(live_, kBlocks / 2);
  }
  ASSERT_EQ(device_->geometry().ZoneOf(garbage.back().place), first);
  sound = true;
  zones_->RemoveLive({&garbage.back(), 1});
  EXPECT_TRUE(Acquire(Soon()));
  EXPECT_EQ(calls, kZones);
}

// Files that are open for writing are not moved. They may be closed before the deadline.
TEST_F(ReclaimerTest, BusyZonesAreNoSpaceAtTheDeadline) {
  RunningSearch running(*zones_, [](ZoneId) -> Status { return Fail(Code::kBusy, "being written"); });
  const auto writer = Acquire(Deadline::After(std::chrono::milliseconds(50)));
  EXPECT_EQ(writer ? Code::kBusy : writer.error().code(), Code::kNoSpace);
}

// Example: a commit fails with its metadata zone, and the next one succeeds.
TEST_F(ReclaimerTest, ATransientErrorCostsNoZone) {
  std::atomic<std::uint32_t> calls = 0;
  RunningSearch running(*zones_, [&](ZoneId zone) -> Status {
    if (++calls <= kZones - 1) return Fail(Code::kIo, "not committed");
    for (const Extent& extent : live_) {
      if (device_->geometry().ZoneOf(extent.place) == zone) zones_->RemoveLive({&extent, 1});
    }
    return {};
  });
  const auto writer = Acquire(Soon());
  EXPECT_TRUE(writer) << writer.error().ToString();
  EXPECT_GE(calls, kZones);
}

TEST_F(ReclaimerTest, NoRoomForCopiesIsNoSpaceUntilDataIsDeleted) {
  std::atomic<std::uint32_t> calls = 0;
  RunningSearch running(*zones_, [&](ZoneId) -> Status {
    ++calls;
    return Fail(Code::kNoSpace, "no room for the commit");
  });
  EXPECT_EQ(Acquire(Soon()).error().code(), Code::kNoSpace);
  const std::uint32_t before = calls;
  EXPECT_EQ(Acquire(Soon()).error().code(), Code::kNoSpace);
  EXPECT_EQ(calls, before);
  zones_->RemoveLive({live_.data(), 1});  // all of that zone is dead now
  EXPECT_TRUE(Acquire(Soon()));
}

// Copies of the other data in a held zone would cost room and free nothing.
TEST_F(ReclaimerTest, HeldZonesAreNotEmptied) {
  std::atomic<std::uint32_t> calls = 0;
  RunningSearch running(
      *zones_,
      [&](ZoneId zone) -> Status {
        ++calls;
        for (const Extent& extent : live_) {
          if (device_->geometry().ZoneOf(extent.place) == zone) zones_->RemoveLive({&extent, 1});
        }
        return {};
      },
      true);
  const auto refused = Acquire(Deadline::After(std::chrono::milliseconds(50)));
  EXPECT_EQ(refused ? Code::kBusy : refused.error().code(), Code::kNoSpace);
  EXPECT_EQ(calls, 0U);
  running.held = false;
  EXPECT_TRUE(Acquire(Soon()));
}

TEST_F(ReclaimerTest, BusyZonesAreNoSpaceAtOnceIfCommitsAreImpossible) {
  RunningSearch running(*zones_, [](ZoneId) -> Status { return Fail(Code::kBusy, "being written"); });
  running.can_commit = false;
  const SteadyTime begin = SteadyNow();
  const auto refused = Acquire(Soon());
  EXPECT_EQ(refused ? Code::kBusy : refused.error().code(), Code::kNoSpace);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(30)) << "the writer waited for its deadline";
}

TEST_F(ReclaimerTest, AWriterWaitsForADeadZoneThatAReaderPins) {
  RunningSearch running(*zones_, [&](ZoneId) -> Status { return Fail(Code::kCorruption, "damaged"); });
  ZonePin reader = zones_->Pin(device_->geometry().ZoneOf(live_.front().place));
  zones_->RemoveLive({live_.data(), 1});
  const auto refused = Acquire(Deadline::After(std::chrono::milliseconds(50)));
  EXPECT_EQ(refused ? Code::kBusy : refused.error().code(), Code::kNoSpace);
  Thread ends("reader", [&] { reader = ZonePin(); });
  EXPECT_TRUE(Acquire(Soon()));
}

// The log holds a zone that it can do without. It lists the zone only after the collector has asked for it in vain.
class LateLogZoneTest : public ReclaimerTest {
 protected:
  LateLogZoneTest() {
    zones_->RemoveLive({live_.data(), 1});
    const auto allocated = zones_->AllocateLogZone(Soon());
    EXPECT_TRUE(allocated) << allocated.error().ToString();
    log_zone_ = *allocated;
  }
  Result<ZoneWriter> AllocateBeside(bool log_is_recovered) {
    const auto look = [&] {
      LogView view{.complete = log_is_recovered};
      if (asked_ && log_is_recovered) view.zones.push_back({.zone = log_zone_, .writable = true});
      return view;
    };
    const auto return_spare = [&] {
      if (!std::exchange(asked_, true) || !log_is_recovered) return false;
      zones_->ReleaseLogZone(log_zone_);
      return true;
    };
    RunningSearch running(*zones_, [](ZoneId) -> Status { return Fail(Code::kCorruption, "damaged"); },
                          /*all_held=*/false, {look, return_spare});
    return Acquire(Soon());
  }

 private:
  ZoneId log_zone_;
  bool asked_ = false;  // on the collector's thread
};

TEST_F(LateLogZoneTest, DataWaitsForAZoneThatTheLogIsGettingAndCanDoWithout) {
  const auto writer = AllocateBeside(/*log_is_recovered=*/true);
  EXPECT_TRUE(writer) << writer.error().ToString();
}

TEST_F(LateLogZoneTest, BeforeTheLogIsRecoveredDataDoesNotWaitForIt) {
  const SteadyTime begin = SteadyNow();
  const auto refused = AllocateBeside(/*log_is_recovered=*/false);
  EXPECT_EQ(refused ? Code::kBusy : refused.error().code(), Code::kNoSpace);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(30)) << "the writer waited for its deadline";
}

TEST_F(ReclaimerTest, ABusyZoneIsTriedAgainUntilItIsFree) {
  std::atomic<std::uint32_t> calls = 0;
  RunningSearch running(*zones_, [&](ZoneId zone) -> Status {
    if (++calls < 3 * kZones) return Fail(Code::kBusy, "somebody writes it");
    for (const Extent& extent : live_) {
      if (device_->geometry().ZoneOf(extent.place) == zone) zones_->RemoveLive({&extent, 1});
    }
    return {};
  });
  EXPECT_TRUE(Acquire(Soon()));
}

}  // namespace
}  // namespace zenfs
