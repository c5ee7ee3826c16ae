// What frames prove about the metadata log. It holds an epoch durably before the epoch's first frame is written, so a frame
// of a later epoch than it knows of tells that commits are lost: even the last one, whose damage looks like a commit that
// a loss of power cut off.
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

  // `known`: the metadata log's epoch.
  bool SawBehind(std::uint64_t known) const { return epoch_ > known; }
  // One sentence, if SawBehind.
  std::string Text(std::uint64_t known) const;
  // Of a frame of the latest epoch seen.
  ZoneId zone() const { return zone_; }
  DeviceOffset place() const { return place_; }

 private:
  std::uint64_t epoch_ = 0;
  ZoneId zone_;
  DeviceOffset place_;
};

}  // namespace zenfs
