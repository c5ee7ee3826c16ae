// The device of a read-write mount, with the superblock, the options and the counters of the mount.
//
// Threads: constant, with three exceptions. `metrics` has its own rules. The mounting thread adds to `notices` until the
// mount is complete. The unmount resets `reads` and `device` when no other thread is inside the
// volume.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/metered_device.h"
#include "file/read_batch.h"
#include "format/superblock.h"
#include "metrics/metrics.h"
#include "open/mount_options.h"
#include "volume/mount/metrics_file.h"

namespace zenfs {

struct MountedDevice {
  MountedDevice(std::unique_ptr<ZonedDevice> unmetered, Superblock its_superblock, const MountOptions& asked)
      : superblock(std::move(its_superblock)),
        options(asked),
        device(MeterDevice(std::move(unmetered), metrics)),
        reads(std::make_unique<ReadPool>(*device)),
        geometry(device->geometry()),
        name(device->name()),
        notices(device->notices()) {}

  // Writes the counters to the file that the option metrics_file names, if it is set.
  [[nodiscard]] Status KeepMetrics() const {
    if (options.metrics_file.empty()) return {};
    const Status written = WriteMetricsFile(options.metrics_file, metrics.page());
    return written.ok() ? Status() : Fail(written.error().With(name + ": option metrics_file"));
  }

  const Superblock superblock;
  const MountOptions options;
  Metrics metrics;
  std::unique_ptr<ZonedDevice> device;  // null once unmounted
  std::unique_ptr<ReadPool> reads;      // of the device; null once unmounted
  const Geometry geometry;
  const std::string name;
  std::vector<std::string> notices;  // those of the mount, see Volume::notices
};

}  // namespace zenfs
