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
// A lock covers a run of adjacent zones, and each call for one passes all others in the kernel. So there are at most kRunsMax of
// them: if the zones have more runs, they are announced in units of 2, 4, 8 ... adjacent zones, until none is held any more. A
// zone that is announced only for its neighbours rests as long before its reset as others, which costs nothing: no zone rests
// that the writer needs.
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
  static constexpr std::size_t kRunsMax = 1024;
  // Announces `zones` until the result is destroyed. Null if the writer does not count the resets of one.
  [[nodiscard]] std::shared_ptr<const Hold> Announce(std::vector<ZoneId> zones) EXCLUDES(mutex_);

  bool WriterRuns() const { return memory_.MakerRuns(); }

 private:
  AnnouncedZones(SharedMemory memory, std::uint64_t resets_offset, std::uint32_t zones)
      : memory_(std::move(memory)), resets_offset_(resets_offset), zone_count_(zones) {}

  enum class Change { kAnnounce, kWithdraw };
  // `zones` are sorted. Does not allocate if it withdraws.
  void Make(Change change, const std::vector<ZoneId>& zones) EXCLUDES(mutex_);
  // Counts a hold of one zone of the unit. True if the unit must be told to the writer.
  bool Count(Change change, std::uint32_t unit) REQUIRES(mutex_);
  // Tells the writer of the units from `first` on.
  void Tell(Change change, std::uint64_t first, std::uint64_t end) REQUIRES(mutex_);
  // Makes the units so large that there are at most kRunsMax runs, and tells the writer of all.
  void Coarsen() REQUIRES(mutex_);
  // Empty if one can't be read.
  [[nodiscard]] std::vector<std::uint32_t> ResetsOf(const std::vector<ZoneId>& zones) const;

  const SharedMemory memory_;
  const std::uint64_t resets_offset_;
  const std::uint32_t zone_count_;
  Mutex mutex_{LockRank::kLeaf};
  unsigned unit_bits_ GUARDED_BY(mutex_) = 0;  // a unit has 1 << unit_bits_ zones
  // By unit: the sum of the holds of each of its zones. No entry: none.
  std::map<std::uint32_t, std::uint64_t> holds_ GUARDED_BY(mutex_);
  std::size_t runs_ GUARDED_BY(mutex_) = 0;  // of adjacent units in holds_
};

}  // namespace zenfs
