// The database of option_kill_test.cc, opened by the writer that is killed and by the test that looks afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "option_kill_cases.h"
#include "option_kill_work.h"
#include "rocksdb/db.h"

namespace zenfs {

// Writes of a thread from one flush that acknowledges them to the next, where the case does not acknowledge each.
inline constexpr long kWritesBetweenFlushes = 25;

class OptionKillDatabase {
 public:
  // `place`: a URI of ZenFS, or a directory of the host for RocksDB's own file system. Makes what is missing.
  [[nodiscard]] static rocksdb::Status Open(const OptionKillCase& kill_case, const std::string& place,
                                            std::unique_ptr<OptionKillDatabase>* result);
  ~OptionKillDatabase();
  OptionKillDatabase(const OptionKillDatabase&) = delete;
  OptionKillDatabase& operator=(const OptionKillDatabase&) = delete;

  rocksdb::DB& db() { return *db_; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return families_; }

  // The number of the last operation of a thread that is in the database; 0 if none.
  [[nodiscard]] rocksdb::Status LastOf(int thread, long* last);
  // All keys and values.
  [[nodiscard]] rocksdb::Status ReadAll(OptionKillContent* content);

 private:
  OptionKillDatabase() = default;

  std::shared_ptr<rocksdb::Env> env_;  // null: the host's
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// Runs the case's writer until it is killed: three threads, each from the operation behind its last one. Prints a line
// "THREAD NUMBER" for each write that is acknowledged, and those of the thread before it with it. Returns an exit status
// when something fails.
[[nodiscard]] int RunOptionKillWriter(const OptionKillCase& kill_case, const std::string& place);

}  // namespace zenfs
