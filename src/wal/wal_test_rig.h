// Shared by the tests of this folder: a log on an emulated device in memory with injected faults, the
// committed metadata as a State, and the recovery of a file by a scan, as in a mount.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/thread.h"
#include "model/state.h"
#include "testing/faulty_device.h"
#include "wal/framed_file.h"
#include "wal/log_space.h"
#include "wal/wal_recovery.h"
#include "zone/zone_test_rig.h"

namespace zenfs {

// Returns `size` letters that depend on `seed` and on the position.
inline std::string TestText(std::size_t size, std::uint64_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed * 5) % 26);
  return text;
}

inline Status Append(FramedFile& file, std::string_view text) { return file.Append(AsBytes(text)); }

// A frame to write, with its buffer.
struct TestJob {
  TestJob(std::uint64_t owner, std::uint64_t sequence, std::uint64_t file_offset, std::string_view text,
          bool flush = false)
      : buffer(kFrameHeaderBytes + text.size()) {
    buffer.Resize(kFrameHeaderBytes);
    buffer.Append(AsBytes(text));
    job = {
        .owner = owner, .sequence = sequence, .file_offset = file_offset, .buffer = &buffer, .flush = flush};
  }
  AlignedBuffer buffer;
  FrameJob job;
};

// A derived class must stop the log in its own destructor, because the thread of the log calls virtual
// functions.
class WalRig : public LogZoneAllocations {
 public:
  explicit WalRig(const EmulatorGeometry& geometry, std::uint32_t ready_target = 1,
                  const EmulatorOptions& options = {})
      : WalRig(CreateMemoryDevice(geometry, options), ready_target) {}
  ~WalRig() override {
    if (log != nullptr) log->Stop();
  }

  // Makes a new zone manager and a new log from the device, in a new epoch, like a mount after the death of
  // the process. Destroy earlier files first. `start_log` false: the caller starts the log.
  void Mount(bool start_log = true) {
    log.reset();
    zones.reset();
    const auto report = ReportAll(device).value();
    zones = MakeManager(report, {.metadata_zones = {},
                                 .log = {.needs = log_needs, .least = log_needs, .group = log_group},
                                 .reclaims = reclaims});
    const State now = state();
    ASSERT_TRUE(Commit({BeginEpoch{now.epoch() + 1}}).ok());
    log = std::make_unique<LogSpace>(LogSpace::Deps{.device = &device,
                                                    .zones = zones.get(),
                                                    .allocations = this,
                                                    .volume = volume,
                                                    .epoch = now.epoch() + 1,
                                                    .ready_target = ready_target_,
                                                    .space_wait = std::chrono::seconds(30),
                                                    .sending = sending,
                                                    .depth = depth,
                                                    .sync_blocks = sync_blocks});
    for (const auto& [id, zone] : now.log_zones()) log->Adopt(zone, report[id.value]);
    if (recover) recover();
    log->FinishSpares();
    ASSERT_TRUE(zones->Start().ok());
    if (start_log) {
      ASSERT_TRUE(log->Start().ok());
    }
  }

  // --- the metadata ---
  Status Commit(std::vector<Edit> edits) {
    Effects effects;
    MutexLock lock(mutex_);
    const Status applied = state_.Apply(edits, &effects);
    EXPECT_TRUE(applied.ok()) << applied.error().ToString();
    if (zones != nullptr) {
      zones->AddLive(effects.gained);
      zones->RemoveLive(effects.lost);
    }
    changed_.NotifyAll();
    return applied;
  }
  State state() const {
    MutexLock lock(mutex_);
    return state_;
  }
  Result<std::vector<LogZone>> Allocate(std::span<const ZoneId> group) override {
    MutexLock allocating(allocations_mutex_);  // a generation is not given twice
    std::uint64_t generation = 0;
    {
      MutexLock lock(mutex_);
      if (allocations_to_fail_ != 0) {
        --allocations_to_fail_;
        return Fail(allocations_fail_with_, "the metadata log cannot be written");
      }
      allocated_ += group.size();
      generation = state_.next_generation();
    }
    std::vector<LogZone> allocated;
    for (const ZoneId zone : group)
      allocated.push_back(
          {.zone = zone, .generation = generation, .salt = generation * 977 + allocated.size()});
    ZENFS_RETURN_IF_ERROR(Commit({RaiseCounters{0, generation + 1}, AllocateLogZones{allocated}}));
    return allocated;
  }
  Status MarkSync(ZoneId zone, std::uint64_t bytes) override { return Commit({MarkSyncZone{zone, bytes}}); }
  Status Release(std::span<const ZoneId> zones) override {
    ZENFS_RETURN_IF_ERROR(Commit({ReleaseLogZones{{zones.begin(), zones.end()}}}));
    MutexLock lock(mutex_);
    released_.insert(released_.end(), zones.begin(), zones.end());
    ++release_commits_;
    changed_.NotifyAll();
    return {};
  }
  void FailAllocations(std::uint64_t times, Code code = Code::kIo) {
    MutexLock lock(mutex_);
    allocations_to_fail_ = times;
    allocations_fail_with_ = code;
  }
  std::uint64_t release_commits() const {
    MutexLock lock(mutex_);
    return release_commits_;
  }
  std::uint64_t allocated() const {
    MutexLock lock(mutex_);
    return allocated_;
  }
  std::vector<ZoneId> released() const {
    MutexLock lock(mutex_);
    return released_;
  }
  bool WasReleased(ZoneId zone) const { return std::ranges::count(released(), zone) != 0; }
  bool WaitUntilReleased(ZoneId zone) {
    MutexLock lock(mutex_);
    const Deadline deadline = Soon();
    while (std::ranges::count(released_, zone) == 0) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }
  bool WaitUntilAllocated(std::size_t log_zones) {
    MutexLock lock(mutex_);
    const Deadline deadline = Soon();
    while (state_.log_zones().size() < log_zones) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

  // --- files ---
  FramedFile::Deps FileDeps() const {
    return {.device = device_of_files == nullptr ? &device : device_of_files,
            .zones = zones.get(),
            .log = log.get(),
            .epoch = state().epoch(),
            .buffer_bytes = buffer_bytes};
  }
  std::shared_ptr<FramedFile> NewFile() {
    const FileId id(next_id_.fetch_add(1));
    EXPECT_TRUE(
        Commit({RaiseCounters{id.value + 1, 0}, CreateFile{id, FileShape::kFramed, Lifetime::kShort, 1},
                LinkFile{kRootDirectory, std::to_string(id.value), id}})
            .ok());
    return std::make_shared<FramedFile>(FileDeps(), id);
  }
  // Returns the file as a mount would find it now.
  ReplayedLog Replay(FileId id) {
    const State now = state();
    std::vector<ScannedFrame> frames;
    for (const auto& [zone, allocation] : now.log_zones()) {
      const ZoneInfo info = device.ReportZone(zone).value();
      ScanLogZone(device, volume, allocation, info, [&](const ScannedFrame& frame) {
        if (frame.owner == id.value) frames.push_back(frame);
      });
    }
    return ReplayLog(*now.FindFile(id), now.epoch(), std::move(frames));
  }
  // Returns the content that a read-only mount would find now, or "damaged: ...". Repeats the scan if zones
  // were released meanwhile: a frame with a duplicate may have been found at the place that is not live. Also
  // repeats it if damage was found while frames were written: the scan may have missed a frame and found a
  // later one.
  std::string Recovered(FileId id) {
    for (;;) {
      const State before = state();
      const std::uint64_t writes = Count(FaultyDevice::Command::kWrite);
      ReplayedLog replayed = Replay(id);
      std::string content;
      const bool damaged = !replayed.damage.empty();
      if (!damaged) {
        // In the manager of the mounted volume, a zone that is released meanwhile may not be pinned.
        const auto report = ReportAll(device).value();
        const auto look = MakeManager(report, {.metadata_zones = {}, .read_only = true});
        FramedFile::Deps deps = FileDeps();
        deps.zones = look.get();
        deps.log = nullptr;
        content = Content(FramedFile(deps, *before.FindFile(id), std::move(replayed)));
      } else {
        content = "damaged: " + DamageText(replayed.damage.front(), "file");
      }
      const bool moved_on = damaged && Count(FaultyDevice::Command::kWrite) != writes;
      if (!moved_on && state().log_zones() == before.log_zones()) return content;
    }
  }
  // A manager that has adopted the committed state.
  std::unique_ptr<ZoneManager> MakeManager(const std::vector<ZoneInfo>& report,
                                           const ZoneManager::Options& options) const {
    const SlotPlan plan = PlanSlots(device.geometry(), device.name()).value();
    auto manager = ZoneManager::Create(device, plan, report, options).value();
    manager->Adopt(state());
    return manager;
  }
  // Seals the open window of `replayed` and opens the file, like a read-write mount. Call this after Mount.
  std::shared_ptr<FramedFile> Reopen(FileId id, ReplayedLog replayed) {
    if (replayed.open_window) {
      const auto record = state().FindFile(id);
      SealLog seal{id, record->windows, replayed.open_window->last_sequence + 1, replayed.open_window->end,
                   1};
      seal.windows.push_back(*replayed.open_window);
      EXPECT_TRUE(Commit({seal}).ok());
    }
    return std::make_shared<FramedFile>(FileDeps(), *state().FindFile(id), std::move(replayed));
  }
  // Writes `files` files in each of `threads` threads, by `records` synced records of up to `bytes` bytes, and reads each
  // file again, here and as a mount would. Returns how often something failed.
  int SyncFromManyThreads(std::uint64_t threads, int files, int records, std::uint64_t bytes) {
    std::atomic<int> failures = 0;
    std::vector<Thread> running;
    for (std::uint64_t t = 0; t < threads; ++t) {
      running.emplace_back("writer", [this, &failures, t, files, records, bytes] {
        Random random(t + 1);
        for (int round = 0; round < files; ++round) {
          const auto file = NewFile();
          std::string content;
          for (int i = 0; i < records; ++i) {
            const std::string text = TestText(1 + random.Below(bytes), random.Next() % 100);
            if (!Append(*file, text).ok() || !file->Sync().ok()) ++failures;
            content += text;
          }
          if (Content(*file) != content) ++failures;
          if (Recovered(file->id()) != content) ++failures;
        }
      });
    }
    for (Thread& thread : running) thread.Join();
    return failures;
  }
  static std::string Content(const FramedFile& file) {
    std::string text(file.size(), '?');
    const auto got = file.Read(0, std::as_writable_bytes(std::span(text)));
    if (!got) return "error: " + got.error().ToString();
    text.resize(*got);
    return text;
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }
  ZoneId ZoneOf(DeviceOffset place) const { return device.geometry().ZoneOf(place); }
  ZoneCondition ConditionOf(ZoneId zone) { return device.ReportZone(zone).value().condition; }
  std::uint64_t Count(FaultyDevice::Command command) const { return device.count(command); }

 private:
  WalRig(std::unique_ptr<EmulatorDevice> made, std::uint32_t ready_target)
      : emulator(*made), device(std::move(made)), ready_target_(ready_target) {}

 public:
  EmulatorDevice& emulator;
  mutable FaultyDevice device;
  const Uuid volume = Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd").value();
  std::uint32_t log_needs = 0;
  std::uint32_t log_group = 1;  // zones in a group of the log. More only if `reclaims`
  std::uint64_t buffer_bytes = 64 << 10;
  WalSending sending = WalSending::kAuto;
  std::uint32_t depth = 16;
  bool sync_blocks = false;
  bool reclaims = false;  // the test answers ZoneManager::AwaitReclaimNeed. Set this and recover before Mount
  std::function<void()> recover;           // writes in Mount, before there are files
  ZonedDevice* device_of_files = nullptr;  // files read from it; null: from `device`
  std::unique_ptr<ZoneManager> zones;
  std::unique_ptr<LogSpace> log;

 private:
  const std::uint32_t ready_target_;
  std::atomic<std::uint64_t> next_id_ = 100;
  Mutex allocations_mutex_;  // before mutex_
  mutable Mutex mutex_;      // before the zone manager's
  CondVar changed_;
  State state_ GUARDED_BY(mutex_);
  std::uint64_t allocations_to_fail_ GUARDED_BY(mutex_) = 0;
  Code allocations_fail_with_ GUARDED_BY(mutex_) = Code::kIo;
  std::uint64_t allocated_ GUARDED_BY(mutex_) = 0;
  std::vector<ZoneId> released_ GUARDED_BY(mutex_);
  std::uint64_t release_commits_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
