#include "repair/repair.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "device/guarded_device.h"
#include "metalog/metalog.h"
#include "repair/metadata_file.h"

namespace zenfs {
namespace {

Status CarryOutOn(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to) {
  ZENFS_RETURN_IF_ERROR(SaveMetadata(device, plan.superblock,
                                     {.made_seconds = WallSeconds(),
                                      .highest_sequence = plan.highest_sequence,
                                      .next_generation = plan.generation,
                                      .repaired_sequence = plan.sequence},
                                     save_to));
  ZENFS_RETURN_IF_ERROR(
      Metalog::Rebuild(device, plan.superblock, plan.state,
                       {.generation = plan.generation, .sequence = plan.sequence, .keep = plan.keep}));
  // From here on the volume is repaired. A second log switch resets every other zone, damaged ones
  // too, and leaves a second generation to fall back to.
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<Metalog> log, Metalog::Open(device, plan.superblock));
  const Status switched = log->Switch();
  log->Stop();
  // With too few zones for a second generation the volume is still sound, if the flush succeeds.
  if (!switched.ok() && switched.error().code() == Code::kNoSpace) return device.Flush();
  return switched;
}

}  // namespace

Status CarryOut(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to) {
  if (device.mode() != OpenMode::kExclusive) {
    return Fail(Code::kReadOnly, fmt::format("{} is open for reading only", device.name()));
  }
  if (plan.nothing_to_do()) return {};
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  return CarryOutOn(*guarded, plan, save_to);
}

}  // namespace zenfs
