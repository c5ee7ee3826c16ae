#include "zone/zone_job.h"

#include "base/sync_point.h"

namespace zenfs {
namespace {

bool IsEmpty(const std::optional<ZoneInfo>& info) { return info && info->condition == ZoneCondition::kEmpty; }

}  // namespace

std::optional<ZoneInfo> ReportOne(ZonedDevice& device, ZoneId zone) {
  const Result<ZoneInfo> report = device.ReportZone(zone);
  return report ? std::optional(*report) : std::nullopt;
}

ZoneJobOutcome RunZoneJob(ZonedDevice& device, const ZoneJob& job) {
  ZoneJobOutcome outcome;
  if (job.kind == ZoneJob::Kind::kFinish) {
    SyncPoint::Reach("zone.operations.finish");
    outcome.info = ReportOne(device, job.zone);
    outcome.ok = outcome.info && !IsActive(outcome.info->condition);
    if (outcome.ok) return outcome;
    const Status finished = device.Finish(job.zone);
    outcome.ok = finished.ok();
    outcome.refused = !finished.ok() && finished.error().code() == Code::kBusy;
    outcome.info = ReportOne(device, job.zone);
    return outcome;
  }
  SyncPoint::Reach("zone.operations.reset");
  if (job.kind == ZoneJob::Kind::kResetIfWritten) {
    outcome.info = ReportOne(device, job.zone);
    outcome.ok = IsEmpty(outcome.info);
    if (outcome.ok) return outcome;
  }
  const bool sent = device.Reset(job.zone).ok();
  // The report decides: a reset may change the capacity (device assumption 4), and a failed reset may have been
  // carried out (device assumption 5).
  outcome.info = ReportOne(device, job.zone);
  outcome.ok = IsEmpty(outcome.info) && (sent || outcome.info->capacity != 0);
  // The zone is not written again. If it stayed active, it would take a slot from all others until the unmount.
  if (!outcome.ok && outcome.info && IsActive(outcome.info->condition)) {
    IgnoreError(device.Finish(job.zone));
    outcome.info = ReportOne(device, job.zone);
  }
  return outcome;
}

}  // namespace zenfs
