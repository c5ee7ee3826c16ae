#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "cli/advice.h"
#include "cli/advice_text.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "volume/mkfs.h"
#include "volume/volume_space.h"

namespace zenfs {
namespace {

// A quarter of the host's memory: the rest is for the program and the host.
std::uint64_t UsualMemory() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  return pages / 4 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint32_t Processors() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

// The capacity that most zones have, and how many can be used.
[[nodiscard]] Status AddZones(std::span<const ZoneInfo> usable, AdviceInput& input) {
  if (usable.size() < kFewestUsableZones) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: {} usable zones, and ZenFS needs at least {}",
                                                    input.device, usable.size(), kFewestUsableZones));
  }
  std::map<std::uint64_t, std::uint32_t> by_capacity;
  for (const ZoneInfo& zone : usable) ++by_capacity[zone.capacity];
  input.zone_capacity =
      std::ranges::max_element(by_capacity, {}, [](const auto& entry) { return entry.second; })->first;
  input.zones = static_cast<std::uint32_t>(usable.size());
  const MetadataPlan metadata = PlanMetadata(input.geometry, usable);
  input.metadata_copies = metadata.copies;
  input.kept_zones =
      metadata.zones + LogShareOn(input.geometry).needs + HeadroomZonesOn(input.geometry, metadata.zones);
  return {};
}

class AdviseAction : public Action {
 public:
  explicit AdviseAction(CLI::App& app) : device_(app) {
    app.add_option("--format", format_,
                   "table, options (a RocksDB options file), db_bench (a flag file) or mycnf")
        ->check(CLI::IsMember({"table", "options", "db_bench", "mycnf"}))
        ->default_str(format_);
    AddSize(app, "--memory", memory_,
            "memory for memtables and the block cache (default: a quarter of this host's)");
    AddCount(app, "--jobs", jobs_, "threads for flushes and compactions (default: one for each processor)",
             128);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const NamedDevice named, device_.Open(OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, ReportAll(*named.device));
    AdviceInput input{.device = named.device->name(),
                      .geometry = named.device->geometry(),
                      .memory = memory_ != 0 ? memory_ : UsualMemory(),
                      .jobs = jobs_ != 0 ? jobs_ : Processors()};
    ZENFS_RETURN_IF_ERROR(AddZones(UsableZones(input.geometry, zones), input));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<AdvisedOption> options, Advise(input));
    Print(options, console);
    return 0;
  }

 private:
  void Print(std::span<const AdvisedOption> options, Console& console) const {
    if (json_) return PrintJson(options, console);
    if (format_ == "options") return console.Print(AdviceAsOptionsFile(options));
    if (format_ == "db_bench") return console.Print(AdviceAsFlags(options));
    if (format_ == "mycnf") return console.Print(AdviceAsMyCnf(options));
    std::vector<std::vector<std::string>> rows;
    for (const AdvisedOption& option : options)
      rows.push_back({std::string(option.name), option.value, option.reason});
    constexpr TextColumn kTitles[] = {{"option"}, {"value", /*right=*/true}, {"why"}};
    console.Print(TextTable(kTitles, rows, console.terminal().columns));
  }
  static void PrintJson(std::span<const AdvisedOption> options, Console& console) {
    Json out = Json::array();
    for (const AdvisedOption& option : options) {
      const bool database = option.section == AdvisedOption::Section::kDatabase;
      out.push_back({{"option", option.name},
                     {"section", database ? "DBOptions" : "CFOptions"},
                     {"value", option.value},
                     {"why", option.reason}});
    }
    console.PrintJson({{"options", std::move(out)}});
  }

  DeviceOption device_;
  std::string format_ = "table";
  std::uint64_t memory_ = 0;
  std::uint32_t jobs_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeAdvise(CLI::App& app) { return MakeAction<AdviseAction>(app); }

}  // namespace zenfs
