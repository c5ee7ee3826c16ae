#include <fmt/format.h>

#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// Dead bytes that no reset can free yet, in percent of the used bytes.
std::uint64_t SpaceAmplification(const SpaceReport& space) {
  if (space.used() == 0) return 0;
  return static_cast<std::uint64_t>(100.0 * static_cast<double>(space.reclaimable()) /
                                    static_cast<double>(space.used()));
}

struct Part {
  const char* name;
  const char* key;
  std::uint64_t bytes;
  const char* meaning;
};

// All parts of the device; their sum is space.total.
std::vector<Part> PartsOf(const SpaceReport& space) {
  return {
      {"data", "file_bytes", space.live - space.padding, "of files in zones"},
      {"padding", "padding_bytes", space.padding, "the rest of their last blocks"},
      {"logs", "log_bytes", space.log_used, "live frames of WAL, MANIFEST and LOG"},
      {"metadata", "metadata_bytes", space.metadata_used, "names and places of files"},
      {"dead, of files", "dead_file_bytes", space.garbage, "free once their zones are dead or moved"},
      {"dead, of logs", "dead_log_bytes", space.log_garbage, "the same"},
      {"free", "free_bytes", space.free, "for files"},
      {"kept for logs", "kept_for_logs_bytes", space.log - space.log_used - space.log_garbage,
       "for syncs on a full device"},
      {"kept for metadata", "kept_for_metadata_bytes", space.metadata - space.metadata_used,
       "for deletions on a full device"},
      {"kept for reclaim", "reclaim_bytes", space.reclaim, "to move live data on a full device"},
      {"lost", "lost_bytes", space.lost, "offline, read-only and failed zones"},
      {"all zones", "total_bytes", space.total, "that ZenFS can use"},
  };
}

class DfAction : public Action {
 public:
  explicit DfAction(CLI::App& app) : device_(app) {
    app.add_flag("--explain", explain_, "Show where all of the device's space is");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.Mount(OpenMode::kReadOnly, console));
    const SpaceReport space = volume->Space();
    if (json_) {
      console.PrintJson(ToJson(space));
    } else if (explain_) {
      Explain(space, console);
    } else {
      console.Print(fmt::format("Free: {} MB\nUsed: {} MB\nReclaimable: {} MB\nSpace amplification: {}%\n",
                                WholeMegabytes(space.free), WholeMegabytes(space.used()),
                                WholeMegabytes(space.reclaimable()), SpaceAmplification(space)));
    }
    return 0;
  }

 private:
  static Json ToJson(const SpaceReport& space) {
    Json json{{"used_bytes", space.used()},
              {"reclaimable_bytes", space.reclaimable()},
              {"reserved_bytes", space.reserved()},
              {"data_bytes", space.live},
              {"space_amplification_percent", SpaceAmplification(space)}};
    for (const Part& part : PartsOf(space)) json[part.key] = part.bytes;
    return json;
  }

  static void Explain(const SpaceReport& space, Console& console) {
    std::vector<std::vector<std::string>> rows;
    for (const Part& part : PartsOf(space)) {
      const double share =
          space.total == 0 ? 0 : 100.0 * static_cast<double>(part.bytes) / static_cast<double>(space.total);
      rows.push_back({part.name, ShortBytes(part.bytes), fmt::format("{:.1f}%", share), part.meaning});
    }
    constexpr TextColumn kColumns[] = {{""}, {"size", true}, {"share", true}, {""}};
    console.Print(TextTable(kColumns, rows, console.terminal().columns));
  }

  DeviceOption device_;
  bool explain_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDf(CLI::App& app) { return MakeAction<DfAction>(app); }

}  // namespace zenfs
