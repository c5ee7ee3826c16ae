// The zones that a framed file points to: a pin on each, and the count of its live frames there, which
// LogZones adds up.
//
// Ownership: a pin and a count end when the file no longer points to the zone, or with this object.
// Threads: no lock; the lock of the file guards it (framed_file_parts.h). Calls LogZones and ZoneManager,
// whose locks come after that one.
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
  // `log` null: nothing is counted, because the file is only read. All three outlive this object.
  FileZones(const Geometry& geometry, ZoneManager& manager, LogZones* log)
      : geometry_(geometry), manager_(manager), log_(log) {}
  FileZones(const FileZones&) = delete;
  FileZones& operator=(const FileZones&) = delete;
  ~FileZones();

  // Counts the frames of a file from recovery. `device_bytes`: of all its frames, by zone. `pieces`: the
  // parts of them that the file reads.
  void Adopt(const std::map<ZoneId, std::uint64_t>& device_bytes, std::span<const Piece> pieces);
  void Pin(DeviceOffset place);
  // Adds a frame that FrameWriter has placed. FrameWriter has added it to LogZones already.
  void Add(const PlacedFrame& frame);
  // Replaces all pins and counts by those of `pieces`. A piece counts its whole frame, with header and
  // padding, as Add did.
  void Recount(std::span<const Piece> pieces);

  // Call this only for a zone that the file points to.
  const ZonePin& PinOf(ZoneId zone) const { return zones_.at(zone).pin; }
  // True if the file points to the zone, and to no frame in it.
  bool HasExtentsIn(ZoneId zone) const {
    const auto it = zones_.find(zone);
    return it != zones_.end() && it->second.frames.device_bytes == 0;
  }
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
