// The files of a leveled LSM tree under uniform overwrites, in the amounts that RocksDB's defaults give: a model of levels and
// key ranges without keys.
//
//   memtable --flush--> level 0 --all of it, with all of level 1--> level 1 --one file, with the files below it--> level 2 ...
//
// The last level has each key once. A level above it is `multiplier` times smaller. A compaction writes the union of its inputs:
// with u bytes from above and l bytes from below, out of K bytes of distinct keys in their range, u + l - u*l/K. It deletes its
// inputs when all of its outputs are written. Compactions run beside each other where their files differ. The user waits while
// level 0 has too many files or a level is far too large, as RocksDB stalls writes.
//
// Lifetimes are those of RocksDB: logs short, levels 0 and 1 medium, level 2 long, deeper levels extreme. Small files (OPTIONS,
// IDENTITY) have none, and the MANIFEST grows with each table.
//
// Begins by writing levels 1 to the last one whole, the last one first.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "workload.h"
#include "workload_events.h"

namespace zenfs::space {

class LeveledTree final : public WorkloadEvents {
 public:
  explicit LeveledTree(const WorkloadOptions& options);

 private:
  struct Table {
    FileId id;
    double begin = 0;  // of its keys, in [0, 1)
    double end = 0;
    std::uint64_t bytes = 0;
    bool busy = false;  // input of a running compaction
  };
  struct Level {
    std::map<double, Table> tables;  // by begin, without overlaps
    std::uint64_t bytes = 0;         // of tables that are not busy
    std::uint64_t target = 0;
  };
  // A flush or a compaction.
  struct Job {
    std::size_t to_level = 0;
    std::vector<FileId> inputs;
    std::vector<double> inputs_at[2];  // the keys of inputs in the levels above and below
    std::vector<Table> outputs;        // without ids; written one after the other
    std::size_t current = 0;           // of outputs
    FileId writing;                    // 0: the current output is not created yet
    std::uint64_t written = 0;         // bytes of it
    std::optional<FileId> log;         // a flush: deleted at its end
  };

  void Step() override;
  void WriteUser();
  void SwitchMemtable();
  // Writes a piece. Returns true at the end of the job.
  bool Write(Job& job);
  void End(Job& job);
  std::optional<Job> PickCompaction();
  std::optional<Job> PickLevelZero();
  // From a table at a random place: RocksDB takes the one with the least overlap, which has no order.
  std::optional<Job> PickFrom(std::size_t level);
  // The inputs in `level` that overlap; nullopt if one is busy.
  std::optional<std::vector<double>> FindOverlap(std::size_t level, double begin, double end) const;
  void Take(Job& job, std::size_t level, const std::vector<double>& keys, int side, std::uint64_t* bytes);
  void Split(Job& job, double begin, double end, std::uint64_t bytes) const;
  void NoteManifest();
  bool UserStalls() const;
  double Score(std::size_t level) const;
  std::uint64_t Union(std::uint64_t upper, std::uint64_t lower, double width) const;

  const WorkloadOptions options_;
  Random random_;
  std::uint64_t unique_bytes_ = 0;  // of the last level
  std::vector<Level> levels_;       // levels_[0] is unused
  std::deque<Table> level_zero_;    // oldest first
  bool level_zero_busy_ = false;
  std::vector<Job> jobs_;
  std::deque<Job> flushes_;
  FileId log_;
  std::uint64_t log_bytes_ = 0;
  FileId manifest_;
  std::uint64_t manifest_bytes_ = 0;
  std::size_t loading_ = 0;  // the level that is being loaded; 0: the tree is complete
  const std::uint64_t piece_;
};

}  // namespace zenfs::space
