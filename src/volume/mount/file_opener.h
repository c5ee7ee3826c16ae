// Opens and creates files by path, and releases them.
//
// Ownership: each returned OpenFile has one more handle counted, which the caller must give back with Release.
// Threads: any. Create waits for the lock on the name in the catalog.
#pragma once

#include <memory>
#include <string_view>

#include "catalog/catalog.h"
#include "open/commit_path.h"
#include "open/open_file_factory.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "volume/mount/id_allocator.h"

namespace zenfs {

class FileOpener {
 public:
  struct Deps {
    Catalog& catalog;
    const CommitPath& commits;
    IdAllocator& ids;
    OpenFileTable& files;
    const OpenFileFactory& factory;
    Metrics& metrics;
    TraceRecorder* trace = nullptr;  // null: nothing is recorded
  };
  // The parts in `deps` outlive it.
  explicit FileOpener(const Deps& deps) : deps_(deps) {}

  // Errors: those of CatalogView::Resolve, kNotFound, kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Open(std::string_view path);
  // Creates a pending file; it replaces a file of that name. Errors: those of PlanCreate and IdAllocator::Next; that of
  // CommitPath::health once no commit can succeed any more.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Create(std::string_view path, Lifetime lifetime);
  // Gives back one handle. With the last handle, an uncommitted file disappears.
  void Release(OpenFile& file);
  // Affects zones that are chosen from now on.
  void SetLifetime(OpenFile& file, Lifetime lifetime);

 private:
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> CreatePending(std::string_view path, Lifetime lifetime);
  std::shared_ptr<OpenFile> OpenCommitted(const CatalogView& view, FileId id);

  const Deps deps_;
};

}  // namespace zenfs
