// Combinations of RocksDB's options under which a database is killed (option_kill_test.cc).
#pragma once

#include <span>
#include <string>

#include "rocksdb/options.h"

namespace zenfs {

// When the writer may call a write acknowledged: from then on the death of the process must not lose it.
enum class AcknowledgedBy {
  kTheWrite,      // RocksDB flushes its log after each write
  kFlushWal,      // manual_wal_flush: a later FlushWAL
  kMemtableFlush  // no log: a later Flush of all column families
};

struct OptionKillCase {
  std::string name;
  // `root`: the directory for all that the database keeps outside its own directory.
  void (*adjust)(rocksdb::Options& options, const std::string& root);
  int families = 1;
  AcknowledgedBy acknowledged = AcknowledgedBy::kTheWrite;
};

[[nodiscard]] std::span<const OptionKillCase> OptionKillCases();
// Null if no case has that name.
[[nodiscard]] const OptionKillCase* FindOptionKillCase(const std::string& name);

// Options of a database in `root` on `env`, with small buffers, so that kills meet flushes and compactions.
[[nodiscard]] rocksdb::Options OptionsOf(const OptionKillCase& kill_case, rocksdb::Env* env,
                                         const std::string& root);

}  // namespace zenfs
