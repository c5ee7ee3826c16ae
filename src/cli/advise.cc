#include "cli/advise.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "volume/mkfs.h"
#include "zone/zone_limits.h"
#include "zone/zone_manager.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kUsualFile = 64 * kMiB;  // RocksDB's default: large enough to be read in long pieces
// A table ends after the block that reaches the target; filter and index blocks follow. They are 2 to 4 % of a table with
// values of 100 bytes, less with larger ones.
constexpr std::uint64_t kTablePercent = 95;
constexpr std::uint32_t kMemtables = 4;
constexpr std::uint32_t kLevel0Files = 4;
constexpr std::uint32_t kLevel0Slow = 2 * kLevel0Files;
constexpr std::uint32_t kLevel0Stop = 3 * kLevel0Files;
constexpr std::uint64_t kUsualDebt = std::uint64_t{64}
                                     << 30;  // RocksDB's default of soft_pending_compaction_bytes_limit

// What all options follow from.
struct Plan {
  std::uint64_t data = 0;            // bytes that files can have
  std::uint64_t files_per_zone = 1;  // 0: a file takes several zones
  std::uint64_t file = 0;
  std::uint64_t memtable = 0;
  std::uint64_t level1 = 0;
  std::uint64_t compaction = 0;
  std::uint64_t debt = 0;  // of compactions, in bytes
  std::uint64_t wal = 0;
  std::uint32_t jobs = 0;
  std::uint32_t data_zones = 0;  // that may be written at once
};

std::uint64_t FileThatFits(std::uint64_t capacity, std::uint64_t files) {
  const std::uint64_t bytes = capacity / files * kTablePercent / 100;
  return bytes > kMiB ? RoundDown(bytes, kMiB) : bytes;
}

Plan PlanFor(const AdviceInput& in, const SlotPlan& slots) {
  Plan plan;
  plan.data = in.zone_capacity * (in.zones - in.kept_zones);
  // Zones much larger than a usual table take several; smaller ones take one.
  plan.files_per_zone = std::max<std::uint64_t>(1, in.zone_capacity / kUsualFile);
  plan.file = FileThatFits(in.zone_capacity, plan.files_per_zone);
  // Half of the memory is for memtables. They are flushed to files of the same size, so that these fit as well.
  const std::uint64_t most = std::max<std::uint64_t>(in.memory / 2 / kMemtables, kMiB);
  plan.memtable = std::min(plan.file, RoundDown(most, kMiB));
  plan.level1 = kLevel0Files * plan.memtable;
  plan.compaction = std::clamp(plan.data / 32, 4 * plan.file, 25 * plan.file);
  // A merge of level 0 alone is a debt of about twelve memtables.
  plan.debt = std::min(kUsualDebt, std::max(plan.data / 16, 16 * plan.memtable));
  plan.wal = std::max(kMemtables * plan.memtable, in.zone_capacity);
  plan.data_zones = slots.open_data;
  plan.jobs = std::clamp<std::uint32_t>(std::min(in.jobs, slots.open_data), 2, 32);
  return plan;
}

std::string FitText(const AdviceInput& in, const Plan& plan) {
  const std::string capacity = ShortBytes(in.zone_capacity);
  if (plan.files_per_zone == 1)
    return fmt::format("one table, with its index and filter, fills a zone of {}", capacity);
  return fmt::format("{} tables, with their indexes and filters, fill a zone of {}", plan.files_per_zone,
                     capacity);
}

void AddColumnFamily(const AdviceInput& in, const Plan& plan, std::vector<AdvisedOption>& out) {
  const auto add = [&out](std::string_view name, std::uint64_t value, std::string reason) {
    out.push_back(
        {AdvisedOption::Section::kColumnFamily, name, name, std::to_string(value), std::move(reason)});
  };
  add("target_file_size_base", plan.file, FitText(in, plan));
  add("target_file_size_multiplier", 1, "tables of all levels fit the zones alike");
  add("write_buffer_size", plan.memtable,
      plan.memtable == plan.file
          ? "a flushed memtable fits a zone as a table does"
          : fmt::format("{} memtables take half of {} of memory", kMemtables, ShortBytes(in.memory)));
  add("max_write_buffer_number", kMemtables, "writes go on while memtables wait for a zone to be cleaned");
  add("level0_file_num_compaction_trigger", kLevel0Files,
      "level 0 is merged while it is small, so that its zones die together");
  add("level0_slowdown_writes_trigger", kLevel0Slow,
      "writes become slower before level 0 takes much of the device");
  add("level0_stop_writes_trigger", kLevel0Stop,
      fmt::format("level 0 takes {} at most", ShortBytes(kLevel0Stop * plan.memtable)));
  add("soft_pending_compaction_bytes_limit", plan.debt,
      "old versions that compactions have yet to drop take room: writes become slower");
  add("hard_pending_compaction_bytes_limit", 2 * plan.debt, "and wait before the device is full of them");
  add("max_bytes_for_level_base", plan.level1, "level 1 is as large as level 0 when that is merged");
  out.push_back({AdvisedOption::Section::kColumnFamily, "level_compaction_dynamic_level_bytes",
                 "level_compaction_dynamic_level_bytes", "true",
                 "nine tenths of the data are in the last level, so few old versions take room"});
  add("max_compaction_bytes", plan.compaction,
      fmt::format("a compaction needs no more than this, of {} for files, before it frees its inputs",
                  ShortBytes(plan.data)));
}

void AddDatabase(const AdviceInput& in, const Plan& plan, std::vector<AdvisedOption>& out) {
  const auto add = [&out](std::string_view name, std::string_view flag, std::string value,
                          std::string reason) {
    out.push_back({AdvisedOption::Section::kDatabase, name, flag, std::move(value), std::move(reason)});
  };
  add("max_background_jobs", "max_background_jobs", std::to_string(plan.jobs),
      fmt::format("{} zones of files may be written at once, and {} threads were asked for", plan.data_zones,
                  in.jobs));
  add("max_total_wal_size", "max_total_wal_size", std::to_string(plan.wal),
      "older logs are flushed, so that one idle column family does not hold log zones");
  add("use_direct_reads", "use_direct_reads", "true",
      "ZenFS reads without a page cache, whatever this says; RocksDB then reads ahead");
  add("use_direct_io_for_flush_and_compaction", "use_direct_io_for_flush_and_compaction", "true",
      "RocksDB hands over large aligned buffers");
  add("compaction_readahead_size", "compaction_readahead_size", std::to_string(2 * kMiB),
      "compactions read long pieces of a zone");
  add("writable_file_max_buffer_size", "writable_file_max_buffer_size", std::to_string(kMiB),
      "a table is written in long pieces");
  add("max_open_files", "open_files", "-1", "an open file costs ZenFS no descriptor");
  add("max_log_file_size", "", std::to_string(16 * kMiB), "RocksDB's own log is on the device, too");
  add("keep_log_file_num", "", "4", "and is not kept for long");
  add("recycle_log_file_num", "", "0",
      "a zone is not written again before its reset, so a recycled log saves nothing");
}

}  // namespace

Result<std::vector<AdvisedOption>> Advise(const AdviceInput& input) {
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan slots,
                         PlanSlots(input.geometry, input.device, input.metadata_copies));
  if (input.zones <= input.kept_zones) {
    return Fail(Code::kNotSupported, fmt::format("{} has {} usable zones, and ZenFS needs more than {}",
                                                 input.device, input.zones, input.kept_zones));
  }
  const Plan plan = PlanFor(input, slots);
  std::vector<AdvisedOption> options;
  AddColumnFamily(input, plan, options);
  AddDatabase(input, plan, options);
  return options;
}

namespace {

// The options in the forms that programs read. Each option has its reason as a comment.
using Section = AdvisedOption::Section;

std::string SectionLines(std::span<const AdvisedOption> options, Section section) {
  std::string out;
  for (const AdvisedOption& option : options) {
    if (option.section != section) continue;
    out += fmt::format("  # {}\n  {}={}\n", option.reason, option.name, option.value);
  }
  return out;
}

// An options file of RocksDB, for LoadOptionsFromFile and db_bench --options_file. The version is the oldest that all options are in, because RocksDB refuses a file from a newer one with unknown options.
std::string AdviceAsOptionsFile(std::span<const AdvisedOption> options) {
  return fmt::format(
      "[Version]\n  rocksdb_version=6.29.5\n  options_file_version=1.1\n\n[DBOptions]\n{}\n[CFOptions "
      "\"default\"]\n{}\n[TableOptions/BlockBasedTable \"default\"]\n",
      SectionLines(options, Section::kDatabase), SectionLines(options, Section::kColumnFamily));
}

// A file of flags, for db_bench --flagfile.
std::string AdviceAsFlags(std::span<const AdvisedOption> options) {
  std::string out;
  for (const AdvisedOption& option : options) {
    if (option.db_bench.empty()) continue;
    out += fmt::format("# {}\n--{}={}\n", option.reason, option.db_bench, option.value);
  }
  return out;
}

// The [mysqld] section of a my.cnf, for MyRocks.
std::string AdviceAsMyCnf(std::span<const AdvisedOption> options) {
  std::string database, column_family, reasons;
  for (const AdvisedOption& option : options) {
    if (option.section == Section::kDatabase) {
      database += fmt::format("# {}\nrocksdb_{}={}\n", option.reason, option.name, option.value);
      continue;
    }
    reasons += fmt::format("# {}: {}\n", option.name, option.reason);
    column_family += fmt::format("{}{}={}", column_family.empty() ? "" : ";", option.name, option.value);
  }
  return fmt::format("[mysqld]\n{}{}rocksdb_default_cf_options={}\n", database, reasons, column_family);
}

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
    const auto memory = [this](const std::string& text) {
      const auto size = ParseSize(text);
      if (!size) throw CLI::ValidationError("--memory", size.error().text());
      memory_ = *size;
      if (memory_ >= kLeastMemory) return;
      throw CLI::ValidationError(
          "--memory", fmt::format("'{}' is too little: memtables and the block cache need {} at least", text,
                                  FormatSize(kLeastMemory)));
    };
    app.add_option_function<std::string>(
           "--memory", memory, "memory for memtables and the block cache (default: a quarter of this host's)")
        ->type_name("SIZE");
    AddCount(app, "--jobs", jobs_, "threads for flushes and compactions (default: one for each processor)",
             128, 1)
        ->default_str("");
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
