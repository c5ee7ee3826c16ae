// The zones that a read-only mount uses, announced to the writer through the file of its append buffers
// (docs/formats/shared-memory.md). The writer lets announced zones rest for a while before it resets them, and counts the
// resets of each zone in the file. So a reader can prove that bytes of a deleted file were not reset yet.
//
//   Announce the zones of a file -> prove by the metadata log that the file still exists -> read ... -> NoneWasReset
//
// If the file existed after the announcement, none of its zones had been reset by then, because a writer resets zones only
// after it has committed the deletion. If later the counts are the same and the writer still runs, none was reset since: as
// long as it runs, nobody else writes to the device.
//
// The announcement of a process that dies is gone at once: it is a lock, which the kernel releases.
//
// Ownership: a Hold keeps its AnnouncedZones. Threads: any. mutex_ is a leaf lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/shared_memory.h"
#include "buffers/orphaned_buffers.h"
#include "model/units.h"

namespace zenfs {

class AnnouncedZones : public std::enable_shared_from_this<AnnouncedZones> {
 public:
  // Null if the writer has no such file, if this process may not read it, if the writer is dead, or if it does not count
  // resets.
  [[nodiscard]] static std::shared_ptr<AnnouncedZones> Open(const WhoseBuffers& whose);

  class Hold {
   public:
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    // True if no zone was reset between the announcement and this call, and the writer runs.
    bool NoneWasReset() const;
    bool WriterRuns() const { return owner_->WriterRuns(); }

   private:
    friend class AnnouncedZones;
    Hold(std::shared_ptr<AnnouncedZones> owner, std::vector<ZoneId> zones);
    std::shared_ptr<AnnouncedZones> owner_;
    const std::vector<ZoneId> zones_;    // sorted
    std::vector<std::uint32_t> resets_;  // of each at the announcement; empty if they could not be read
  };
  // Announces `zones` until the result is destroyed. Null if the writer does not count the resets of one.
  [[nodiscard]] std::shared_ptr<const Hold> Announce(std::vector<ZoneId> zones) EXCLUDES(mutex_);

  bool WriterRuns() const { return memory_.MakerRuns(); }

 private:
  AnnouncedZones(SharedMemory memory, std::uint64_t resets_offset, std::uint32_t zones)
      : memory_(std::move(memory)), resets_offset_(resets_offset), zone_count_(zones) {}

  void Withdraw(const std::vector<ZoneId>& zones) EXCLUDES(mutex_);
  // Empty if one can't be read.
  [[nodiscard]] std::vector<std::uint32_t> ResetsOf(const std::vector<ZoneId>& zones) const;

  const SharedMemory memory_;
  const std::uint64_t resets_offset_;
  const std::uint32_t zone_count_;
  Mutex mutex_{LockRank::kLeaf};
  std::map<ZoneId, std::uint32_t> holds_ GUARDED_BY(mutex_);  // number of holds of each zone
};

}  // namespace zenfs
