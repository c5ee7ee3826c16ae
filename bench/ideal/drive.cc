#include "drive.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/emulator/precise_wait.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kZones = 4096;  // files written at very different times may share one
constexpr std::uint64_t kZoneBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kSeed = 540;
constexpr std::array<const char*, kCauses> kCauseNames = {"data", "wal", "metadata", "padding"};

// The existing drives, for the handler of exit(): an Env is never destroyed. This object is never
// destroyed either.
struct Drives {
  Mutex mutex;
  std::set<IdealDrive*> living GUARDED_BY(mutex);
};

Drives& AllDrives() {
  static auto* const drives = new Drives();
  return *drives;
}

bool EndsWith(const std::string& path, std::string_view suffix) { return path.ends_with(suffix); }

}  // namespace

Cause CauseOf(const std::string& path) {
  if (EndsWith(path, ".log")) return Cause::kWal;
  if (EndsWith(path, ".sst") || EndsWith(path, ".blob")) return Cause::kData;
  return Cause::kMetadata;
}

std::shared_ptr<IdealDrive> IdealDrive::Create(Timing timing, std::string counters) {
  std::shared_ptr<IdealDrive> drive(new IdealDrive(timing, std::move(counters)));
  static const int registered = std::atexit([] {
    Drives& drives = AllDrives();
    MutexLock lock(drives.mutex);
    for (const IdealDrive* living : drives.living) living->KeepCounters();
  });
  static_cast<void>(registered);
  Drives& drives = AllDrives();
  MutexLock lock(drives.mutex);
  drives.living.insert(drive.get());
  return drive;
}

IdealDrive::IdealDrive(Timing timing, std::string counters)
    : counters_(std::move(counters)), clock_(MakeDeviceClock(timing, kZones, kZoneBytes, kSeed)) {}

IdealDrive::~IdealDrive() {
  Drives& drives = AllDrives();
  MutexLock lock(drives.mutex);
  drives.living.erase(this);
  KeepCounters();
}

ZoneId IdealDrive::TakeZone() { return ZoneId(next_zone_.fetch_add(1, std::memory_order_relaxed) % kZones); }

SteadyTime IdealDrive::Send(TimedCommand::Kind kind, ZoneId zone, std::uint64_t bytes) {
  const SteadyTime now = SteadyNow();
  MutexLock lock(mutex_);
  return clock_ == nullptr ? now : clock_->Completion({.kind = kind, .zone = zone, .bytes = bytes}, now);
}

SteadyTime IdealDrive::SendWrite(ZoneId zone, std::uint64_t bytes, Cause cause) {
  const std::uint64_t rounded = (bytes + kIdealBlock - 1) / kIdealBlock * kIdealBlock;
  const auto count = [this](Cause of, std::uint64_t n) {
    bytes_[static_cast<std::size_t>(of)].fetch_add(n, std::memory_order_relaxed);
  };
  count(cause, bytes);
  count(Cause::kPadding, rounded - bytes);
  return Send(TimedCommand::Kind::kWrite, zone, rounded);
}

SteadyTime IdealDrive::SendRead(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin = offset / kIdealBlock;
  const std::uint64_t end = (offset + bytes + kIdealBlock - 1) / kIdealBlock;
  return Send(TimedCommand::Kind::kRead, zone, (end - begin) * kIdealBlock);
}

void IdealDrive::WaitUntil(SteadyTime due) {
  if (due <= SteadyNow()) return;
  const std::uint64_t before = ThreadCpuNanoseconds();
  WaitPrecisely(due);
  waiting_cpu_ns_.fetch_add(ThreadCpuNanoseconds() - before, std::memory_order_relaxed);
}

std::string IdealDrive::CountersText() const {
  nlohmann::json bytes = nlohmann::json::object();
  for (std::size_t i = 0; i < kCauses; ++i) bytes[kCauseNames[i]] = bytes_[i].load(std::memory_order_relaxed);
  return nlohmann::json{{"device_bytes", bytes},
                        {"waiting_cpu_ns", waiting_cpu_ns_.load(std::memory_order_relaxed)}}
      .dump();
}

void IdealDrive::KeepCounters() const {
  if (!counters_.empty()) std::ofstream(counters_) << CountersText() << "\n";
}

}  // namespace zenfs
