// Detects lost commits: the metadata log commits an epoch before the first frame of that epoch is written.
// So a frame of a later epoch than the metadata log knows proves that commits are lost. This finds even the
// loss of the last commit, which alone looks like a commit that a power loss interrupted.
//
// Threads: none; a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wal/log_scan.h"

namespace zenfs {

class EpochCheck {
 public:
  void See(const ScannedFrame& frame) {
    if (IsCredible(frame) && frame.epoch > epoch_) {
      epoch_ = frame.epoch;
      zone_ = frame.zone;
      place_ = frame.payload;
    }
  }

  // True if a frame has a later epoch than `known`, the epoch of the metadata log.
  bool SawBehind(std::uint64_t known) const { return epoch_ > known; }
  // One sentence. Call this only if SawBehind.
  std::string Text(std::uint64_t known) const;
  // Zone and place of the first frame seen of the latest epoch.
  ZoneId zone() const { return zone_; }
  DeviceOffset place() const { return place_; }

 private:
  std::uint64_t epoch_ = 0;
  ZoneId zone_;
  DeviceOffset place_;
};

}  // namespace zenfs
