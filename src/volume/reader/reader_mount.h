// A read-only mount: the device, the live state of the volume on it, and the gate in front of both. ReaderVolume and all
// open handles share it. They keep its memory; only the ReaderVolume keeps it mounted.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "volume/live_zones.h"
#include "volume/mount/mount_gate.h"
#include "volume/reader/live_state.h"
#include "volume/reader/reader_announcements.h"
#include "volume/volume.h"

namespace zenfs {

class ReaderMount {
 public:
  // `device` is open read-only. Errors: those of Volume::Mount; kTimedOut beside a writer that changes its metadata zones
  // during each try to read them.
  [[nodiscard]] static Result<std::shared_ptr<ReaderMount>> Open(std::unique_ptr<ZonedDevice> device);

  ReaderMount(std::unique_ptr<ZonedDevice> device, Superblock superblock);

  // Errors: those of MountGate::Enter.
  [[nodiscard]] Result<Gate::Entry> Enter() const { return gate_.Enter(); }
  // The error of every call that would write: kReadOnly, or that of Enter.
  [[nodiscard]] Status Refuse() const;
  // The two devices of the volume belong together now. Errors: those of CheckPairLive.
  [[nodiscard]] Status CheckPair() const;
  // The zones as they are now. Errors: those of Enter, LiveState::Look and AccountLiveZones.
  [[nodiscard]] Result<LiveZones> AccountZones() const;
  void Unmount();

  const VolumeInfo& info() const { return info_; }
  // As in Volume.
  [[nodiscard]] Result<Shortfall> FindShortfall() const;
  std::vector<std::string> notices() const;
  // For callers that have entered.
  LiveState& live() const { return *live_; }
  ZonedDevice& device() const { return *device_; }
  ReaderAnnouncements& announcements() const { return *announcements_; }

 private:
  const VolumeInfo info_;
  MountGate gate_;
  std::unique_ptr<ZonedDevice> device_;
  std::unique_ptr<LiveState> live_;
  std::unique_ptr<ReaderAnnouncements> announcements_;
};

}  // namespace zenfs
