#include "cli/advice_text.h"

#include <fmt/format.h>

#include <string_view>

namespace zenfs {
namespace {

using Section = AdvisedOption::Section;

std::string SectionLines(std::span<const AdvisedOption> options, Section section) {
  std::string out;
  for (const AdvisedOption& option : options) {
    if (option.section != section) continue;
    out += fmt::format("  # {}\n  {}={}\n", option.reason, option.name, option.value);
  }
  return out;
}

}  // namespace

// The version is the oldest that all options are in, because RocksDB refuses a file from a newer one with unknown options.
std::string AdviceAsOptionsFile(std::span<const AdvisedOption> options) {
  return fmt::format(
      "[Version]\n  rocksdb_version=6.29.5\n  options_file_version=1.1\n\n[DBOptions]\n{}\n[CFOptions "
      "\"default\"]\n{}\n[TableOptions/BlockBasedTable \"default\"]\n",
      SectionLines(options, Section::kDatabase), SectionLines(options, Section::kColumnFamily));
}

std::string AdviceAsFlags(std::span<const AdvisedOption> options) {
  std::string out;
  for (const AdvisedOption& option : options) {
    if (option.db_bench.empty()) continue;
    out += fmt::format("# {}\n--{}={}\n", option.reason, option.db_bench, option.value);
  }
  return out;
}

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

}  // namespace zenfs
