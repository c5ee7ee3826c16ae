// The zones that a framed file points to: a pin on each, and what its frames there count as live in the log.
//
// Ownership: each pin is given back, and each count taken back, when the file points there no more or this is destroyed.
// Threads: none of its own; FramedFile::mutex_ guards it. LogZones::mutex_ and the zone manager's come after that.
#pragma once

#include <map>
#include <span>

#include "device/geometry.h"
#include "wal/frame_index.h"
#include "wal/frame_job.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

class FileZones {
 public:
  // `log` null: nothing is counted, for a file that is only read. All outlive it.
  FileZones(const Geometry& geometry, ZoneManager& manager, LogZones* log)
      : geometry_(geometry), manager_(manager), log_(log) {}
  FileZones(const FileZones&) = delete;
  FileZones& operator=(const FileZones&) = delete;
  ~FileZones();

  // The frames of a file from recovery: `device_bytes` by zone, of which `pieces` are what is read.
  void Adopt(const std::map<ZoneId, std::uint64_t>& device_bytes, std::span<const Piece> pieces);
  void Pin(DeviceOffset place);
  // A frame that FrameWriter has placed, and counted.
  void Add(const PlacedFrame& frame);
  // Pins and counts exactly what `pieces` point to. A piece's frame counts whole, with header and padding, as it did when it
  // was placed.
  void Recount(std::span<const Piece> pieces);

  // The file points to `zone`.
  const ZonePin& PinOf(ZoneId zone) const { return zones_.at(zone).pin; }
  // Live frames by log zone.
  std::map<ZoneId, LiveFrames> Frames() const;

 private:
  struct Entry {
    ZonePin pin;
    LiveFrames frames;
  };

  const Geometry& geometry_;
  ZoneManager& manager_;
  LogZones* const log_;
  std::map<ZoneId, Entry> zones_;
};

}  // namespace zenfs
