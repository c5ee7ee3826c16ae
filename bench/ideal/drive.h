// The drive of the ideal file system: the times of a timing profile, and counters, without data.
//
// Every file has its own zone: its writes are serialized, and no zone is ever full, reset or
// finished.
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/emulator/timing.h"
#include "base/mutex.h"

namespace zenfs {

inline constexpr std::uint64_t kIdealBlock = 4096;

// The purpose of written bytes.
enum class Cause : std::uint8_t { kData, kWal, kMetadata, kPadding };
inline constexpr std::size_t kCauses = 4;

// By the name of the file: *.log is the log, *.sst and *.blob are data, everything else is
// metadata.
[[nodiscard]] Cause CauseOf(const std::string& path);

class IdealDrive {
 public:
  // `counters`: the file to which the destructor, or else exit(), writes the counters as JSON;
  // empty: none.
  [[nodiscard]] static std::shared_ptr<IdealDrive> Create(Timing timing, std::string counters);
  ~IdealDrive();
  IdealDrive(const IdealDrive&) = delete;
  IdealDrive& operator=(const IdealDrive&) = delete;

  // Returns a zone for one more file.
  ZoneId TakeZone();
  // Sends a command and returns when it will complete; does not wait. `bytes` of a write are
  // rounded up to whole blocks; the difference counts as padding.
  SteadyTime SendWrite(ZoneId zone, std::uint64_t bytes, Cause cause) EXCLUDES(mutex_);
  SteadyTime SendRead(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) EXCLUDES(mutex_);
  // Returns at `due` or as soon after it as the host can. The CPU time of the wait is counted
  // separately.
  void WaitUntil(SteadyTime due);

  // {"device_bytes": {"data", "wal", "metadata", "padding"}, "waiting_cpu_ns"}
  std::string CountersText() const;

 private:
  IdealDrive(Timing timing, std::string counters);

  SteadyTime Send(TimedCommand::Kind kind, ZoneId zone, std::uint64_t bytes) EXCLUDES(mutex_);
  void KeepCounters() const;

  const std::string counters_;
  Mutex mutex_;                                                     // leaf
  const std::unique_ptr<DeviceClock> clock_ PT_GUARDED_BY(mutex_);  // null: no command takes time
  std::atomic<std::uint32_t> next_zone_{0};
  std::array<std::atomic<std::uint64_t>, kCauses> bytes_{};
  std::atomic<std::uint64_t> waiting_cpu_ns_{0};
};

}  // namespace zenfs
