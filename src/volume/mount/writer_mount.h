// A read-write mount: the device, the parts that use it (volume_parts.h), and the gate in front of them. MountedVolume and
// all open handles share it. They keep its memory; only the MountedVolume keeps it mounted.
//
// RecoverVolume makes it.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "volume/mount/mount_gate.h"
#include "volume/mount/volume_parts.h"
#include "volume/volume.h"

namespace zenfs {

class WriterMount {
 public:
  // `parts` use `device`. The first commit of the mount has succeeded.
  WriterMount(std::unique_ptr<MountedDevice> device, std::unique_ptr<VolumeParts> parts)
      : device_(std::move(device)), parts_(std::move(parts)), gate_(device_->name) {}
  ~WriterMount() { IgnoreError(Unmount()); }

  // Errors: those of MountGate::Enter.
  [[nodiscard]] Result<Gate::Entry> Enter() const { return gate_.Enter(); }
  // Errors: those of MountGate::CheckNotForked.
  [[nodiscard]] Status CheckNotForked() const { return gate_.CheckNotForked(); }
  // Errors: also that of CommitEffects::health, once the volume must not write any more.
  [[nodiscard]] Result<Gate::Entry> EnterToWrite() const;

  // As in Volume.
  [[nodiscard]] Status Unmount();
  [[nodiscard]] Status PrepareForExit();
  std::vector<std::string> notices() const;
  Status health() const;
  VolumeInfo info() const;
  VolumeCounters counters() const;
  bool StartsReads() const;

  // Writes the present counters to the file that the option metrics_file names.
  [[nodiscard]] Status KeepMetrics() const;

  VolumeParts& parts() const { return *parts_; }
  Metrics& metrics() const { return device_->metrics; }

 private:
  const std::unique_ptr<MountedDevice> device_;
  const std::unique_ptr<VolumeParts> parts_;
  MountGate gate_;
};

}  // namespace zenfs
