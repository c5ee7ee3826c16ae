// The zones of a device without the device: the pool that ZenFS decides with (zone/zone_pool.h), and commands that succeed
// at once. No bytes are moved.
//
// A write is committed when it is written, so no zone is pinned between two calls. Resets and finishes take no time.
//
// Threads: for one thread. Units: bytes, whole blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/file_trace.h"
#include "space_counts.h"
#include "victim_index.h"
#include "zone/zone_pool.h"

namespace zenfs::space {

class SimulatedZones {
 public:
  // Errors: those of PlanSlots; kInvalidArgument if the device is too small.
  [[nodiscard]] static Result<std::unique_ptr<SimulatedZones>> Create(const TraceDevice& device,
                                                                      const PlacementPolicy& placement);

  struct Written {
    AllocationOutcome outcome = AllocationOutcome::kNoSpace;
    Extent extent;  // for kAllocated: at least a block and at most the bytes asked for; file_offset is 0
  };
  // Writes to one zone. Every outcome but kAllocated is one of waiting for reclaim, or of no space.
  Written Write(ClaimState& claim, Lifetime lifetime, WritePurpose purpose, std::uint64_t bytes);
  void Remove(std::span<const Extent> extents);
  void Unclaim(ClaimState& claim) { pool_.ReleaseClaim(claim); }

  // An empty zone for the log, or the outcome of the attempt.
  ZoneAllocation AllocateLogZone();
  void ReleaseLogZone(ZoneId zone);

  // Ends an active zone early. Returns false if it is not active.
  bool Finish(ZoneId zone);
  // The zones that may be the best victim: of small devices all, of others those of VictimIndex and the active ones.
  std::vector<ZoneStatus> VictimCandidates() const;

  // Changes when a zone may have become a victim, or a better one.
  std::uint64_t victims_version() const { return victims_version_; }

  ReclaimDemand& demand() { return pool_.demand(); }
  bool ReduceLogShare() { return pool_.ReduceLogShare(); }
  ZoneStatus Zone(ZoneId zone) const { return pool_.Zone(zone); }
  ZoneId ZoneOf(const Extent& extent) const { return geometry_.ZoneOf(extent.place); }
  SpaceReport Space() const { return pool_.Space(); }
  const ZonePool& pool() const { return pool_; }
  const Geometry& geometry() const { return geometry_; }
  std::uint64_t capacity() const { return capacity_; }  // of a zone
  std::uint64_t data_capacity() const;                  // of all zones that data can use
  // Bytes that were written to data zones, with padding and copies.
  std::uint64_t placed_bytes() const { return placed_bytes_; }
  SpaceCounts& counts() { return counts_; }
  const SpaceCounts& counts() const { return counts_; }

 private:
  SimulatedZones(const ZonePool::Setup& setup, const TraceDevice& device, const std::vector<ZoneInfo>& report,
                 const std::vector<ZoneId>& metadata_zones);
  void RunJobs();
  void NoteChange(ZoneId zone) { index_.Update(zone, pool_.table().Peek(zone)); }

  const Geometry geometry_;
  const std::uint64_t capacity_;
  ZonePool pool_;
  VictimIndex index_;
  SpaceCounts counts_;
  std::uint64_t victims_version_ = 0;
  std::uint64_t placed_bytes_ = 0;
};

}  // namespace zenfs::space
