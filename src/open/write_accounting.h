// The bytes that a mount has written to its device, by cause.
//
// Threads: any; Publish takes no lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "metalog/metalog.h"
#include "metrics/metrics.h"
#include "wal/log_space.h"

namespace zenfs {

// The code that writes these bytes counts them here.
struct WrittenBytes {
  std::atomic<std::uint64_t> plain{0};
  std::atomic<std::uint64_t> plain_padding{0};
  std::atomic<std::uint64_t> cleaned{0};
  std::atomic<std::uint64_t> reclaimed{0};
};

// Bytes written to the device since the mount, by cause.
struct WriteCounters {
  std::uint64_t plain_data = 0;
  std::uint64_t log_data = 0;
  std::uint64_t log_padding = 0;  // frame headers and padding
  std::uint64_t metadata = 0;
  std::uint64_t cleaned = 0;            // log data rewritten as extents to free a log zone
  std::uint64_t reclaimed = 0;          // file data moved to free a zone
  std::uint64_t log_reserve_waits = 0;  // syncs that waited for a log zone; a count, not bytes
};

// Combines these counts with those of the log and the metadata log.
class WriteAccounting {
 public:
  struct Sources {
    const ZonedDevice& device;  // used by Publish only
    const Metalog& metalog;
    const LogSpace& log;
    const WrittenBytes& written;
  };
  // All arguments outlive it, except the device, which outlives the last Publish.
  WriteAccounting(const Sources& sources, Metrics& metrics) : sources_(sources), metrics_(metrics) {}

  // Copies the counts to the metrics page.
  void Publish() const;
  WriteCounters Counters() const;

 private:
  const Sources sources_;
  Metrics& metrics_;
};

}  // namespace zenfs
