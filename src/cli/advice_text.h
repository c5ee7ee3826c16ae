// Advised options in the forms that programs read. Each option has its reason as a comment. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/advice.h"

namespace zenfs {

// An options file of RocksDB, for LoadOptionsFromFile and db_bench --options_file.
[[nodiscard]] std::string AdviceAsOptionsFile(std::span<const AdvisedOption> options);
// A file of flags, for db_bench --flagfile.
[[nodiscard]] std::string AdviceAsFlags(std::span<const AdvisedOption> options);
// The [mysqld] section of a my.cnf, for MyRocks.
[[nodiscard]] std::string AdviceAsMyCnf(std::span<const AdvisedOption> options);

}  // namespace zenfs
