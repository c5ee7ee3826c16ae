// From a path to an open file, and to its end.
//
// Ownership: each OpenFile that is returned has a handle counted, for which the caller must call Release.
// Threads: any. Create waits for the lock on the name in the catalog.
#pragma once

#include <memory>
#include <string_view>

#include "catalog/catalog.h"
#include "volume/commit_path.h"
#include "volume/id_allocator.h"
#include "volume/open_file_factory.h"
#include "volume/open_file_table.h"

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
  };
  // The parts in `deps` outlive it.
  explicit FileOpener(const Deps& deps) : deps_(deps) {}

  // Errors: those of CatalogView::Resolve, kNotFound, kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Open(std::string_view path);
  // A new file, pending, in the place of one that has the name. Errors: those of PlanCreate and IdAllocator::Next; that of
  // CommitPath::health once nothing can be committed any more.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Create(std::string_view path, Lifetime lifetime);
  // A handle is gone. With the last one, a file that could not be committed disappears.
  void Release(OpenFile& file);
  // For zones that are chosen from now on.
  void SetLifetime(OpenFile& file, Lifetime lifetime);

 private:
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> CreatePending(std::string_view path, Lifetime lifetime);
  std::shared_ptr<OpenFile> OpenCommitted(const CatalogView& view, FileId id);

  const Deps deps_;
};

}  // namespace zenfs
