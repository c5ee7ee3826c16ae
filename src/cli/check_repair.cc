#include "cli/check_repair.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/clock.h"
#include "base/counted.h"
#include "cli/check_report.h"
#include "cli/verbs.h"
#include "repair/repair.h"

namespace zenfs {
namespace {

std::string DefaultSaveFile(const Uuid& uuid) {
  return fmt::format("zenfs-metadata-{}-{:%Y%m%dT%H%M%SZ}.zmeta", uuid.ToString(),
                     fmt::gmtime(static_cast<std::time_t>(WallSeconds())));
}

void PrintPlan(const RepairPlan& plan, const std::string& save_to, Console& console) {
  for (const std::string& loss : plan.losses) console.Print(fmt::format("lost: {}\n", Printable(loss)));
  if (plan.losses.omitted() != 0)
    console.Print(fmt::format("lost: {}, not listed\n", Counted(plan.losses.omitted(), "more part")));
  if (plan.nothing_to_do()) return console.Print("Nothing to repair.\n");
  console.Print(fmt::format("The repair of {} would:\n", plan.superblock.uuid.ToString()));
  std::size_t number = 1;
  console.Print(fmt::format(
      "{:>3}. copy the metadata zones to {} (at most {} bytes), so that --undo-repair can restore them\n",
      number, Printable(save_to), plan.copy_bytes));
  for (const std::string& step : plan.steps)
    console.Print(fmt::format("{:>3}. {}\n", ++number, Printable(step)));
  if (plan.steps.omitted() != 0)
    console.Print(fmt::format("     and {}, not listed\n", Counted(plan.steps.omitted(), "more step")));
}

Json PlanJson(const RepairPlan& plan, const std::string& save_to) {
  Json json{{"steps", plan.steps},
            {"steps_omitted", plan.steps.omitted()},
            {"losses", plan.losses},
            {"losses_omitted", plan.losses.omitted()}};
  if (!plan.nothing_to_do()) {
    json["generation"] = plan.generation;
    json["sequence"] = plan.sequence;
    json["save_to"] = save_to;
    json["save_bytes_max"] = plan.copy_bytes;
  }
  return json;
}

// Returns whether to continue. Errors: kInvalidArgument if there is no terminal to ask on.
Result<bool> Agreed(const RepairRequest& request, Console& console) {
  if (request.yes) return true;
  if (request.json || !Terminal::Of(fileno(stdin)).is_terminal) {
    return Fail(Code::kInvalidArgument,
                "nothing was changed: give --yes, or run it on a terminal, which asks first");
  }
  return console.Ask("Go on?");
}

Result<CheckReport> CheckAfter(ZonedDevice& device) { return CheckVolume(device, {}); }

}  // namespace

Result<int> RunRepair(const DeviceOption& device, const RepairRequest& request, Console& console) {
  const OpenMode mode = request.dry_run ? OpenMode::kReadOnly : OpenMode::kExclusive;
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device.Open(mode));
  ZENFS_ASSIGN_OR_RETURN(const RepairPlan plan, PlanRepair(*named.device));
  const std::string save_to =
      request.save_to.empty() ? DefaultSaveFile(plan.superblock.uuid) : request.save_to;
  if (!request.json) PrintPlan(plan, save_to, console);
  Json json{{"plan", PlanJson(plan, save_to)}};
  const auto end = [&](std::string_view outcome, bool sound) {
    json["outcome"] = outcome;
    if (request.json) console.PrintJson(json);
    return sound ? kCheckClean : kCheckFindings;
  };
  if (plan.nothing_to_do()) return end("nothing to do", plan.losses.empty());
  if (request.dry_run) return end("dry run", false);
  ZENFS_ASSIGN_OR_RETURN(const bool agreed, Agreed(request, console));
  if (!agreed) {
    console.Print("Nothing was changed.\n");
    return kCheckFindings;
  }
  ZENFS_RETURN_IF_ERROR(CarryOut(*named.device, plan, save_to));
  ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckAfter(*named.device));
  json["saved"] = save_to;
  json["check"] = ToJson(report);
  if (!request.json) {
    console.Print(fmt::format("Done. Copy of the old metadata: {}\n", Printable(save_to)));
    PrintReport(report, console);
  }
  return end("repaired", report.clean());
}

Result<int> RunUndoRepair(const DeviceOption& device, const std::string& file, const RepairRequest& request,
                          Console& console) {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device.Open(OpenMode::kExclusive));
  ZENFS_RETURN_IF_ERROR(UndoRepair(*named.device, file));
  if (request.json) {
    console.PrintJson(Json{{"outcome", "undone"}, {"saved", file}});
  } else {
    console.Print(fmt::format("The metadata zones are restored from {}.\n", Printable(file)));
  }
  return kCheckClean;
}

}  // namespace zenfs
