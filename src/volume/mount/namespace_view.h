// Files and directories of a mounted volume for readers, including bytes that are appended and not committed yet.
//
// Errors: those of CatalogView::Resolve; kNotFound; those named at each function.
// Threads: any. Takes the catalog's lock, and under it those of the open files and the logs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "open/open_file_table.h"
#include "volume/volume.h"
#include "wal/framed_file.h"

namespace zenfs {

class NamespaceView {
 public:
  // All arguments outlive it.
  NamespaceView(const Catalog& catalog, const OpenFileTable& files, const LogStore& logs)
      : catalog_(catalog), files_(files), logs_(logs) {}

  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const;
  // Sorted by name. The path is not looked up if `known` has the directory's id. Errors: kNotADirectory.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const;
  // The committed extents, and the frames beyond them. Errors: kIsADirectory.
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const;
  // Nothing if the file is gone.
  [[nodiscard]] std::optional<FileLayout> LayoutOf(FileId file) const;

 private:
  FileStat StatOf(const CatalogView& view, const Entry& entry) const;

  const Catalog& catalog_;
  const OpenFileTable& files_;
  const LogStore& logs_;
};

}  // namespace zenfs
