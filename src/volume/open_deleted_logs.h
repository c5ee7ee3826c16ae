// The deleted framed files of a mounted volume, for the collector.
//
// Threads: All from any; the others from the thread that empties a zone, one file at a time.
#pragma once

#include <memory>
#include <vector>

#include "catalog/catalog.h"
#include "device/flush_mark.h"
#include "reclaim/deleted_logs.h"
#include "volume/commit_path.h"
#include "volume/open_file_table.h"

namespace zenfs {

class OpenDeletedLogs final : public DeletedLogs {
 public:
  struct Deps {
    ZonedDevice& device;
    ZoneManager& zones;
    Catalog& catalog;
    CommitPath& commits;
    const OpenFileTable& files;
  };
  // The parts in `deps` outlive it.
  explicit OpenDeletedLogs(const Deps& deps) : deps_(deps) {}

  std::vector<std::shared_ptr<FramedFile>> All() const override { return deps_.files.DeletedLogs(); }
  [[nodiscard]] Status WithFile(FileId id, const std::function<Status()>& body) override;
  [[nodiscard]] Status Settle(const std::vector<Extent>& copies) override;

 private:
  const Deps deps_;
  FlushMark copying_since_ = FlushMark::AtOpen();  // before the first copy within WithFile
};

}  // namespace zenfs
