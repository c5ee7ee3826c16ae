// The committed metadata of a volume as a value: what replaying its log yields. The metadata log keeps one
// (its replica, from which snapshots are built), the catalog another (what lookups see).
//
// Invariants
//   every file has links >= 1 names, all in existing directories (between commits; see CreateFile)
//   directories form a tree under kRootDirectory, which always exists
//   a file's extents are in order, without gaps, from 0; no two live extents overlap on the device
//   epoch, next_id and next_generation only rise; no id in use is >= next_id
//
// Threads: none of its own; the owner locks. Copying is cheap for file contents: records are shared,
// immutable.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "model/edit.h"

namespace zenfs {

struct Directory {
  FileId id;
  FileId parent;     // the root is its own parent
  std::string name;  // empty for the root
  std::uint64_t mtime_seconds = 0;
  std::map<std::string, FileId, std::less<>> entries;  // files and directories

  friend bool operator==(const Directory&, const Directory&) = default;
};

// What a list of edits did to the space: for the accounting of live bytes and for open handles. The same
// bytes may be gained and lost (an extent replaced by a longer one at the same place): account for `gained`
// first.
struct Effects {
  std::vector<Extent> gained;
  std::vector<Extent> lost;
  std::vector<FileId> changed;  // files whose record was replaced
  std::vector<FileId> removed;  // files that lost their last name
};

// An invariant that is broken.
struct StateFlaw {
  std::string text;           // one sentence
  std::vector<FileId> files;  // files and directories that it speaks of
  std::optional<DeviceOffset> place{};
};

class State {
 public:
  State();

  // Carries out the edits of one commit. Errors: kCorruption with the edit in words when one contradicts the
  // state (unknown id, name taken, extents with a gap, ...): the state is then unusable and must be dropped.
  [[nodiscard]] Status Apply(std::span<const Edit> edits, Effects* effects = nullptr);

  // Null, or kNoFile, when there is none.
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

  // Visits edits that rebuild this state when applied, in that order, to an empty one; each call is a chunk
  // of at most a few hundred bytes per file that may stand in a frame of its own except that a file and its
  // first name come together. The state must not change meanwhile.
  void Describe(const std::function<void(std::vector<Edit>)>& visit) const;

  // The same contents; whether records are shared does not matter.
  friend bool operator==(const State& a, const State& b);

  // Every invariant above that can be checked without a device; empty means none is broken.
  std::vector<StateFlaw> Flaws() const;
  // The same as sentences.
  std::vector<std::string> Check() const;

 private:
  class Applier;

  std::unordered_map<FileId, std::shared_ptr<const FileRecord>> files_;
  std::unordered_map<FileId, Directory> directories_;
  std::map<ZoneId, LogZone> log_zones_;
  std::uint64_t epoch_ = 0;
  std::uint64_t next_id_ = 2;
  std::uint64_t next_generation_ = 1;
  SetBufferPlace buffers_;
};

}  // namespace zenfs
