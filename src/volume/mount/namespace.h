// The names of a mounted volume: links, renames, deletions and directories. FileOpener creates files.
//
// An action is validated and locks the names and files that it touches (name_plans.h, Catalog::Begin). It commits one frame,
// CommitEffects applies it, and its locks are released. The change is durable when a function returns OK.
//
// Errors: those of the plan, of CommitPath::Commit, and of writing the buffered bytes of a pending file.
// Threads: any. Waits for the locks on names and files in the catalog.
#pragma once

#include <string_view>
#include <vector>

#include "open/open_file_table.h"
#include "volume/mount/id_allocator.h"
#include "volume/mount/name_plans.h"

namespace zenfs {

class Namespace {
 public:
  struct Deps {
    Catalog& catalog;
    CommitPath& commits;
    IdAllocator& ids;
    OpenFileTable& files;
    Metrics& metrics;
  };
  // The parts in `deps` outlive it.
  explicit Namespace(const Deps& deps) : deps_(deps) {}

  [[nodiscard]] Status Unlink(std::string_view path);
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name);
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to);
  [[nodiscard]] Status MakeDirectory(std::string_view path, bool parents);
  [[nodiscard]] Status RemoveDirectory(std::string_view path);
  // One commit for each step of PlanRemovalStep.
  [[nodiscard]] Status RemoveTree(std::string_view path);
  // Commits the directory's pending files.
  [[nodiscard]] Status SyncDirectory(std::string_view path);

 private:
  // A pending file that is committed together with a change of its name.
  struct Promotion {
    std::shared_ptr<OpenFile> file;  // null: the file is committed already
    OpenFile::Uncommitted drained;

    CommitOptions options() const { return {.data_since = drained.data_since}; }
  };
  // Writes the file's buffered bytes and adds its extents to `edits`, which have its creation. The caller has locked the
  // file.
  [[nodiscard]] Result<Promotion> DrainPending(const Entry& entry, std::vector<Edit>& edits);
  void Promoted(const Promotion& promotion);
  // Call this if a pending file has lost its name or was replaced.
  void DropPending(FileId id);

  const Deps deps_;
};

}  // namespace zenfs
