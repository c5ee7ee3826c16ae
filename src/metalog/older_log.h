// Reads the metadata log of the older ZenFS (formats 1 and 2) into a State, so that nothing above knows the format.
// docs/formats/older-formats.md has the format and the mapping. Reads only.
//
// The newest metadata zone with a valid snapshot counts. A torn last record ends the log, as after a power loss. A record that
// is damaged although a valid one follows is an error: durable changes would be missing.
//
// Files that were open when their writer ended get the bytes up to the write pointer of their zone, in memory only.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/replay.h"

namespace zenfs {

// Something wrong with the log that does not make the volume unreadable.
struct OlderFlaw {
  std::string text;   // one sentence
  bool loss = false;  // bytes or changes may be missing; otherwise it is only worth a note
  std::optional<ZoneId> zone;
  std::uint64_t at = 0;  // bytes from the start of the zone
};

// One sentence for all who read the volume: what it is, and what its format lacks.
[[nodiscard]] std::string OlderVolumeText(const std::string& device, const Superblock& superblock);

// Finds the superblock of an older ZenFS with the highest sequence. Does not compare the geometry. Errors: kNotFound if no
// metadata zone has one, or an upgrade is being undone; kCorruption if those that there are can't be used.
[[nodiscard]] Result<Superblock> FindOlderSuperblock(ZonedDevice& device);

// What is left of an older ZenFS beside a volume of format 3 that was one (Superblock::was_older). The order in which an upgrade
// and its undo write and reset zones lets each power cut leave one of these (docs/formats/older-formats.md).
enum class OlderRemains : std::uint8_t {
  kNone,
  kLog,  // its log, with a whole snapshot: the volume is still, or again, one of the older ZenFS
  kUndo,  // an upgrade is being undone: the volume is of format 3, and must not be written until that has ended
};
// Errors: those of reading.
[[nodiscard]] Result<OlderRemains> FindOlderRemains(ZonedDevice& device);
// Call this before the first write to the metadata zones of an upgraded volume whose epoch is 0. After a torn write a read may return
// what was there before the last reset (docs/internals/device-assumptions.md, 1); a superblock of the older ZenFS with its snapshot
// must not return. So the first block of each place of the older metadata is written with zeros and reset again, unless the place is in
// `keep` or has a superblock of format 3. While it is written, a superblock may return, but without a snapshot it does not count.
// Needs an active slot. Errors: the device's.
[[nodiscard]] Status WipeOlderPlaces(ZonedDevice& device, std::span<const ZoneId> keep);
// For who is about to write to the volume `superblock`. Errors: kReadOnly if an upgrade is being undone.
[[nodiscard]] Status CheckNotBeingUndone(ZonedDevice& device, const Superblock& superblock);

// The sequences of the superblocks in `zones`; nothing where there is none. They differ after each roll of the log.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> OlderSequences(ZonedDevice& device,
                                                                       const std::vector<ZoneInfo>& zones);

class OlderLog {
 public:
  // Both outlive it.
  OlderLog(ZonedDevice& device, const Superblock& superblock) : device_(device), superblock_(superblock) {}

  // Replays the log. Files and directories keep their ids from call to call. `zones`: the metadata zones now. Errors:
  // kCorruption, with the reason in one sentence; those of a zone report. Then replayed() is as before.
  [[nodiscard]] Status Read(const std::vector<ZoneInfo>& zones);
  // The same of all metadata zones as they are now.
  [[nodiscard]] Status Read();

  // After a Read that succeeded. `generation` is the sequence of the superblock, `sequence` the number of records.
  const Replayed& replayed() const { return replayed_; }
  const std::vector<OlderFlaw>& flaws() const { return flaws_; }
  // Zones with a file that was open when its writer ended. Their write pointers say how long it is.
  const std::set<ZoneId>& open_zones() const { return open_zones_; }

 private:
  ZonedDevice& device_;
  const Superblock& superblock_;
  Replayed replayed_;
  std::vector<OlderFlaw> flaws_;
  std::set<ZoneId> open_zones_;
  std::map<std::string, FileId, std::less<>> directories_;  // ever seen, by path
};

}  // namespace zenfs
