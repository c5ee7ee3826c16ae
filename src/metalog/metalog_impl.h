// Implementation of the metadata log: opens and stops it. Internal to metalog/. Its parts:
//
//   MetalogParts   the parts under the log's lock: queue, current generation, replica, state of the log switch
//   GroupCommit    groups and writes commits
//   SwitchRun      moves the log to a new generation
//
// Commit and Switch are noexcept: if memory runs out (std::bad_alloc) while a thread has a role, the process ends.
// Otherwise other threads would wait for that role forever.
#pragma once

#include <set>
#include <vector>

#include "metalog/group_commit.h"
#include "metalog/metalog.h"
#include "metalog/metalog_parts.h"
#include "metalog/replay.h"

namespace zenfs {

class MetalogImpl final : public Metalog {
 public:
  MetalogImpl(ZonedDevice& device, const Superblock& superblock, Replayed replayed);
  ~MetalogImpl() override { Stop(); }

  // For an exclusive device: makes the replayed log durable. Runs a log switch if the log cannot continue at its tail, if no
  // zone of the current generation has a valid superblock, or to replace a copy that is lost.
  Status BeginWriting() EXCLUDES(log_.mutex);
  // Sets MetalogStats::lost_copy. Call after BeginWriting.
  void NoteLostCopy() EXCLUDES(log_.mutex);

  const State& recovered() const override { return recovered_; }
  void SetSink(CommitSink* sink) override EXCLUDES(log_.mutex);
  void SetMetrics(Metrics* metrics) override EXCLUDES(log_.mutex);
  Status Commit(std::vector<Edit> edits, CommitOptions options) noexcept override EXCLUDES(log_.mutex);
  Status CheckRoom(std::uint64_t bytes) const override EXCLUDES(log_.mutex);
  Status Switch() noexcept override EXCLUDES(log_.mutex);
  std::vector<ZoneId> zones() const override;
  std::uint32_t ClaimWantedZones() override EXCLUDES(log_.mutex);
  void AddZones(std::span<const ZoneInfo> zones) override EXCLUDES(log_.mutex);
  std::vector<ZoneId> TakeFreedZones() override EXCLUDES(log_.mutex);
  void AwaitSwitch() override EXCLUDES(log_.mutex);
  void Stop() override EXCLUDES(log_.mutex);
  Status health() const override EXCLUDES(log_.mutex);
  MetalogStats stats() const override EXCLUDES(log_.mutex);

 private:
  const State recovered_;
  // Makes the second copy whole, if zones for it are good. Without them the log goes on with what it has.
  Status ReplaceLostCopy(const std::vector<ZoneId>& chain) EXCLUDES(log_.mutex);

  const std::set<ZoneId> lost_copies_;  // as in Replayed
  const std::set<ZoneId> torn_copies_;  // as in Replayed
  const bool newer_traces_;             // zones hold frames of a log switch that never completed
  MetalogParts log_;
  GroupCommit commits_{log_};
};

}  // namespace zenfs
