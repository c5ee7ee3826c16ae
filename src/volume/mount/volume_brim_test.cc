// A device that stays nearly full: while there is garbage, all kinds of writes succeed, and so does a mount.
#include <fmt/format.h>

#include <atomic>
#include <tuple>

#include "base/random.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "volume/mount/volume_reclaim_test_rig.h"

namespace zenfs {
namespace {

EmulatorGeometry GeometryOf(std::uint32_t zones, std::uint32_t slots) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.zones = zones;
  geometry.max_open = geometry.max_active = slots;
  return geometry;
}

// The writes of a database: tables that replace others, one log per memtable, a manifest that grows by one record per table.
class Brim : public Reclaim {
 protected:
  static constexpr std::size_t kTable = 100'000;
  static constexpr std::size_t kTablesALog = 4;

  explicit Brim(std::uint32_t zones = 40, std::uint32_t slots = 14) : Reclaim(GeometryOf(zones, slots)) {
    Open();
  }
  void Open() {
    manifest_ = std::move(*volume_->OpenForAppend("MANIFEST-000001", true));
    NewLog();
  }
  void NewLog() {
    const std::string old = fmt::format("{:06}.log", log_number_);
    wal_ = std::move(*volume_->Create(fmt::format("{:06}.log", ++log_number_)));
    if (log_number_ > 2) IgnoreError(volume_->Unlink(old));
  }
  void Reopen() {
    wal_.reset();
    manifest_.reset();
    Remount();
    Open();
  }
  // Appends one record to the log as a database does: flushes it, and syncs it if `sync`.
  testing::AssertionResult Put(bool sync) {
    const std::string record = RandomBytes(500, ++seed_);
    if (auto status = IsOk(wal_->Append(AsBytes(record))); !status) return status;
    return IsOk(sync ? wal_->Sync() : wal_->Flush());
  }
  testing::AssertionResult Table(const std::string& name, Lifetime lifetime, bool sync) {
    for (std::size_t bytes = 0; bytes < kTable; bytes += 2000) {
      if (auto put = Put(sync); !put) return put << " in the log";
    }
    if (auto table = Write(name, kTable, lifetime); !table) return table << " in a table";
    const std::string edit = RandomBytes(80, ++seed_);
    if (auto status = IsOk(manifest_->Append(AsBytes(edit))); !status) return status;
    if (auto status = IsOk(manifest_->Sync()); !status) return status << " in the manifest";
    if (++tables_ % kTablesALog == 0) NewLog();
    return testing::AssertionSuccess();
  }
  // Fills a percentage of the free space with tables. Returns their number.
  int Fill(int percent, bool sync) {
    const std::uint64_t live = volume_->Space().free * static_cast<std::uint64_t>(percent) / 100;
    const auto tables = static_cast<int>(live / RoundUp(kTable, 4096));
    for (int i = 0; i < tables; ++i) {
      const auto written = Table(fmt::format("{}.sst", i), kLifetimes[i % 3], sync);
      EXPECT_TRUE(written) << i << " of " << tables;
      if (!written) return 0;
    }
    return tables;
  }
  static constexpr Lifetime kLifetimes[] = {Lifetime::kMedium, Lifetime::kLong, Lifetime::kExtreme};

  std::unique_ptr<FileHandle> wal_, manifest_;
  int log_number_ = 0;
  std::size_t tables_ = 0;
};

class OverwritesGoOn : public Brim, public testing::WithParamInterface<std::tuple<int, int, int, bool>> {
 protected:
  OverwritesGoOn() : Brim(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};

// The promise of the README, with logs whose records are all synced, or all not.
TEST_P(OverwritesGoOn, AtTwoThirdsAndMoreWithoutAnError) {
  const auto& [zones, slots, percent, sync] = GetParam();
  const int tables = Fill(percent, sync);
  ASSERT_GT(tables, 0);
  Random random(static_cast<std::uint64_t>(percent));
  const int overwrites = (zones > 100 ? 1 : 3) * tables;
  for (int i = 0; i < overwrites; ++i) {
    const auto which = static_cast<int>(random.Below(static_cast<std::uint64_t>(tables)));
    ASSERT_TRUE(Table(fmt::format("{}.sst", which), kLifetimes[which % 3], sync)) << "overwrite " << i;
    if (i % tables == tables / 2) Reopen();
  }
  ExpectAllThere();
}

std::string NameOf(const testing::TestParamInfo<OverwritesGoOn::ParamType>& info) {
  const auto& [zones, slots, percent, sync] = info.param;
  return fmt::format("Zones{}Slots{}At{}{}", zones, slots, percent, sync ? "Synced" : "");
}

// More zones take minutes under a sanitizer and test no other code.
#ifdef ZENFS_SANITIZED
const auto kSizes = testing::Values(24);
const auto kSmallSizes = testing::Values(24);
const auto kGroupSizes = testing::Values(128);
#else
const auto kSizes = testing::Values(24, 64, 256);
const auto kSmallSizes = testing::Values(24, 40);
const auto kGroupSizes = testing::Values(128, 256);
#endif

INSTANTIATE_TEST_SUITE_P(Sizes, OverwritesGoOn,
                         testing::Combine(kSizes, testing::Values(14), testing::Values(66, 75, 80, 85),
                                          testing::Bool()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(FewSlots, OverwritesGoOn,
                         testing::Combine(kSmallSizes, testing::Values(4, 5, 6), testing::Values(66, 80),
                                          testing::Bool()),
                         NameOf);
// Drives of small zones, whose logs are written to groups of 2 to 4 zones.
INSTANTIATE_TEST_SUITE_P(LogGroups, OverwritesGoOn,
                         testing::Combine(kGroupSizes, testing::Values(128), testing::Values(66, 80, 85),
                                          testing::Bool()),
                         NameOf);

// On the old code: each synced record took a block, so the logs took the room that reclaim needed, and no zone could be
// emptied any more, not even by a mount.
TEST_F(Brim, AVolumeThatRanFullOfSyncedLogsIsMountedAndGoesOnOnceSomethingIsDeleted) {
  const int tables = Fill(90, false);
  int written = 0;
  while (Put(true)) ++written;
  EXPECT_GT(written, 0);
  Delete("0.sst");
  for (int i = 0; i < 5; ++i) {
    Reopen();
    ASSERT_TRUE(Put(true)) << i;
    Delete(fmt::format("{}.sst", i + 1));
    ASSERT_TRUE(Table(fmt::format("{}.sst", i + 1), Lifetime::kMedium, false)) << i << " of " << tables;
  }
  ExpectAllThere();
}

// Readers of deleted files keep their zones. Emptying such a zone would cost room and free none.
TEST_F(Brim, DeletedFilesThatAreStillReadCostNoRoom) {
  constexpr int kRead = 14;  // two zones
  const int tables = Fill(75, false);
  std::vector<std::unique_ptr<FileHandle>> readers;
  for (int i = 0; i < kRead; ++i) {
    readers.push_back(std::move(*volume_->OpenForRead(fmt::format("{}.sst", i))));
    Delete(fmt::format("{}.sst", i));
  }
  Random random(5);
  for (int i = 0; i < 3 * tables; ++i) {
    const auto which = kRead + static_cast<int>(random.Below(static_cast<std::uint64_t>(tables - kRead)));
    ASSERT_TRUE(Table(fmt::format("{}.sst", which), kLifetimes[which % 3], false)) << i;
  }
  ExpectAllThere();
}

// A writer waits for a slow reader instead of failing with "no space".
TEST_F(Brim, AWriterWaitsForAReaderOfADeletedFile) {
  const int tables = Fill(97, false);
  std::vector<std::unique_ptr<FileHandle>> readers;
  for (int i = 0; i < tables; ++i) {
    readers.push_back(std::move(*volume_->OpenForRead(fmt::format("{}.sst", i))));
  }
  for (int i = 0; i < tables; ++i) Delete(fmt::format("{}.sst", i));
  std::atomic<bool> waits = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "ZoneManager::WaitFor:reclaim") return;
    waits = true;
    waits.notify_all();
  });
  const Thread reader("reader", [&] {
    waits.wait(false);
    readers.clear();
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Table(fmt::format("{}.sst", i), Lifetime::kMedium, false)) << i;
  EXPECT_TRUE(waits);
  waits = true;
  waits.notify_all();
}

}  // namespace
}  // namespace zenfs
