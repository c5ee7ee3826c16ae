// Runs one log switch: the log moves to a new generation in other zones. Commits continue in the old generation meanwhile.
//
//   1 reset the zones that no complete generation needs; write SwitchBegin to the old zone
//   2 write superblock and header, flush; write the snapshot of the replica, frozen as of commit S
//   3 copy the commits after S, in rounds; new commits wait during the last round
//   4 flush, write SwitchComplete, flush; now the new generation is the current one
//
// The new generation has as many copies as the log wants (MetalogParts::copies), or one if too few zones are good. An attempt
// that fails is repeated with other zones and a higher generation. If a switch fails before its
// SwitchComplete, the old generation stays current. If the SwitchComplete fails, it is unknown which generation a mount
// would find: the log is fenced.
//
// Invariants
//   base_sequence_ + caught_up_ <= the last commit; equal while this thread leads in the last round, until the end
//   the zones of the current generation, and of an attempt in doubt, are not reset
//
// Ownership: `log` outlives it.
// Threads: one, the one that has the role of the switch (metalog_parts.h). The lock of the log is not held during I/O.
// Units: bytes. Errors: the result of the switch goes to LogSwitch::End; see Metalog::Switch.
#pragma once

#include <memory>
#include <vector>

#include "device/flush_mark.h"
#include "metalog/metalog_parts.h"

namespace zenfs {

class SwitchRun {
 public:
  // Precondition: log.log_switch.running().
  explicit SwitchRun(MetalogParts& log) : log_(log) {}

  // If memory runs out the process ends: other threads would wait for the switch.
  void Run() noexcept EXCLUDES(log_.mutex);

 private:
  [[nodiscard]] Status Begin() EXCLUDES(log_.mutex);
  void RetireZones() EXCLUDES(log_.mutex);
  void FreeSupersededZones() EXCLUDES(log_.mutex);
  Status Try() EXCLUDES(log_.mutex);
  Status BeginInOldZone() EXCLUDES(log_.mutex);
  void FreeSlot() EXCLUDES(log_.mutex);
  Status CatchUp() EXCLUDES(log_.mutex);
  Status WritePending() EXCLUDES(log_.mutex);
  Status CompleteGeneration() EXCLUDES(log_.mutex);
  void TakeLead() EXCLUDES(log_.mutex);
  void Finish(const Status& result) EXCLUDES(log_.mutex);
  std::unique_ptr<GenerationWriter> MoveLog() REQUIRES(log_.mutex);
  bool LogIsHealthy() const EXCLUDES(log_.mutex);

  MetalogParts& log_;
  const State* frozen_ = nullptr;      // of the replica
  std::uint64_t base_sequence_ = 0;    // of the last commit in `frozen_`
  std::vector<ZoneId> current_chain_;  // of the old generation
  ZoneId current_zone_;
  bool completes_copy_ = false;  // the switch runs because the current generation lacks a copy
  std::uint64_t need_ = 0;       // bytes that must stay free after the SwitchComplete
  bool leads_ = false;
  std::uint32_t copies_ = 1;     // of the generation that this attempt writes
  std::uint32_t announced_ = 0;  // copies in the last SwitchBegin that was written or tried; 0: none
  // Zones of an attempt whose SwitchComplete has an unknown outcome, until that SwitchComplete is durably reset, and those of
  // them that hold it.
  std::vector<ZoneId> in_doubt_;
  std::vector<ZoneId> in_doubt_tail_;
  Footprint footprint_;  // of the frozen state
  std::unique_ptr<GenerationWriter> writer_;
  FlushMark written_since_ = FlushMark::AtOpen();  // when this attempt began to write
  std::size_t caught_up_ = 0;                      // pending commits written to the new generation
  std::uint64_t bytes_written_ = 0;                // by failed attempts
};

}  // namespace zenfs
