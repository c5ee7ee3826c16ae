#include "cli/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/short_bytes.h"
#include "zone/zone_limits.h"

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

}  // namespace zenfs
