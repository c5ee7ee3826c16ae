// The committed metadata of a volume, as a value; replay of the metadata log produces it. The metadata log keeps one for
// snapshots, the catalog another for lookups.
//
// Invariants between commits
//   - Every file has links >= 1 names, all in existing directories.
//   - Directories form a tree under kRootDirectory, which always exists.
//   - A file's extents are in order and have no gaps from 0. No two extents overlap on the device.
//   - epoch, next_id and next_generation only rise. All ids in use are below next_id.
//
// Threads: none; the owner locks. Copies share the immutable file records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/edit.h"
#include "model/units.h"

namespace zenfs {

struct Directory {
  FileId id;
  FileId parent;     // the root is its own parent
  std::string name;  // empty for the root
  std::uint64_t mtime_seconds = 0;
  std::map<std::string, FileId, std::less<>> entries;  // files and directories

  friend bool operator==(const Directory&, const Directory&) = default;
};

// Effects of a list of edits, for the accounting of live bytes and for open handles. If an extent is replaced by a longer
// one at the same place, the same bytes are gained and lost. So apply `gained` first.
struct Effects {
  std::vector<Extent> gained;
  std::vector<Extent> lost;
  std::vector<FileId> changed;  // files whose record was replaced
  std::vector<FileId> removed;  // files that lost their last name
};

// Applies `edit` to `file`, as State::Apply does to its copy. Errors: kCorruption if the edit contradicts the file; discard the
// file then. `effects` may be null.
[[nodiscard]] Status ApplyExtents(const SetExtents& edit, FileRecord& file, Effects* effects = nullptr);
// The same for a commit of this edit alone, so that the file must be sound then. Errors: those of State::Apply.
[[nodiscard]] Status ApplyOnlyExtents(const SetExtents& edit, FileRecord& file);

struct StateFlaw {
  std::string text;           // one sentence
  std::vector<FileId> files;  // the affected files and directories
};

// Violations of the invariants of a State. Keeps the first kKeptAtMost by their text and counts the others, because damaged
// metadata of a few MiB can have millions. A plain value.
class StateFlaws {
 public:
  static constexpr std::size_t kKeptAtMost = 1000;

  void Add(StateFlaw flaw) {
    kept_.insert(std::move(flaw));
    if (kept_.size() <= kKeptAtMost) return;
    kept_.erase(std::prev(kept_.end()));
    ++omitted_;
  }

  using value_type = StateFlaw;
  // Those kept, by text: a fixed order, unlike that of the hash tables of a State.
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }  // then none was omitted either
  std::uint64_t omitted() const { return omitted_; }

 private:
  struct ByText {
    bool operator()(const StateFlaw& a, const StateFlaw& b) const { return a.text < b.text; }
  };
  std::multiset<StateFlaw, ByText> kept_;
  std::uint64_t omitted_ = 0;
};

class State {
 public:
  State();

  // Applies the edits of one commit. Errors: kCorruption if an edit contradicts the state (unknown id, name taken, extents
  // with a gap, ...); the text describes the edit. After an error, discard the state.
  [[nodiscard]] Status Apply(std::span<const Edit> edits, Effects* effects = nullptr);

  // The same for a commit of a replay, edit by edit: `next` returns null after the last one, and is not called again. After the
  // last commit call CheckMoved, which Apply does for each commit.
  [[nodiscard]] Status Replay(const std::function<Result<const Edit*>()>& next);
  // Errors: kCorruption if a directory that was moved is below itself now.
  [[nodiscard]] Status CheckMoved();

  // Null or nothing if there is none.
  std::shared_ptr<const FileRecord> FindFile(FileId id) const;
  const Directory* FindDirectory(FileId id) const;
  std::optional<FileId> FindEntry(FileId parent, std::string_view name) const;

  const std::unordered_map<FileId, std::shared_ptr<const FileRecord>>& files() const { return files_; }
  const std::unordered_map<FileId, Directory>& directories() const { return directories_; }
  const std::map<ZoneId, LogZone>& log_zones() const { return log_zones_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t next_id() const { return next_id_; }
  std::uint64_t next_generation() const { return next_generation_; }
  const SetBufferPlace& buffers() const { return buffers_; }
  const std::string& buffer_place() const { return buffers_.place; }
  const Uuid& pair_key() const { return pair_key_; }  // nil: none

  // Visits edits that rebuild this state if they are applied in this order to an empty one. Each chunk may be a commit of
  // its own and has a few hundred bytes, except that all windows of a file are one edit. The state must not change during
  // the call.
  void Describe(const std::function<void(std::vector<Edit>)>& visit) const;

  // Compares contents; shared and separate records are equal.
  friend bool operator==(const State& a, const State& b);

  // Checks all invariants above that can be checked without a device, except that no extents overlap: volume/fsck/check_volume.cc
  // does that, with the zones. Empty if there is no violation.
  StateFlaws Flaws() const;
  // Same, also for extents that overlap. The texts of those kept.
  std::vector<std::string> Check() const;

 private:
  class Applier;

  std::unordered_map<FileId, std::shared_ptr<const FileRecord>> files_;
  std::unordered_map<FileId, Directory> directories_;
  std::unordered_set<FileId> moved_directories_;  // that CheckMoved has not seen
  std::map<ZoneId, LogZone> log_zones_;
  std::uint64_t epoch_ = 0;
  std::uint64_t next_id_ = 2;
  std::uint64_t next_generation_ = 1;
  SetBufferPlace buffers_;
  Uuid pair_key_;
};

// --- limits of the numbers of a volume: epochs, ids, generations of log zones, sequences and file offsets ---
//
// No writer reaches kStateNumbersEnd, so a scan skips frames with such numbers. Therefore no commit may bring a number
// there, and no mount may continue from a state close to it.

// A commit is refused if a number would reach this.
inline constexpr std::uint64_t kStateNumbersEnd = std::uint64_t{1} << 63;
// A state with a number of at least this is damaged.
inline constexpr std::uint64_t kStateNumbersCredible = kStateNumbersEnd / 2;
// A mount is refused unless all numbers are below this. No writer can count from here to kStateNumbersCredible, so a valid
// state stays valid.
inline constexpr std::uint64_t kStateNumbersStart = kStateNumbersCredible / 2;

// Finds a number of the state that is at least `limit`. Nothing if all are lower.
[[nodiscard]] std::optional<StateFlaw> FindNumberFrom(const State& state, std::uint64_t limit);

}  // namespace zenfs
