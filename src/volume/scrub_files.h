// The part of a scrub that reads the extents of files.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/file_record.h"
#include "volume/file_paths.h"
#include "volume/scrub_context.h"

namespace zenfs {

class FileScrub {
 public:
  // The file as it is on the device when this is called; null if it is gone.
  using FindNow = std::function<std::shared_ptr<const FileRecord>(FileId)>;

  FileScrub(ScrubContext& context, FindNow find_now);

  // Reads all extents of the file. What looks damaged counts if the file is the same behind it; else it is read anew,
  // as it is then.
  void File(std::shared_ptr<const FileRecord> record, const FilePaths& paths);

 private:
  struct Outcome {
    std::vector<ScrubFinding> findings;
    std::uint64_t extents_without_checksum = 0;
    std::uint64_t bytes_without_checksum = 0;
  };
  Outcome Read(const FileRecord& record, const FilePaths& paths);
  void ReadExtent(const FileRecord& record, const Extent& extent, const FilePaths& paths, Outcome& outcome);
  // Of the piece that can't be read as a whole: which blocks can't.
  void NameUnreadable(const FileRecord& record, const Extent& extent, std::uint64_t at,
                      const FilePaths& paths, Outcome& outcome);
  void Add(const FileRecord& record, DeviceOffset place, std::uint64_t from, std::uint64_t to,
           const std::string& what, const FilePaths& paths, Outcome& outcome) const;

  ScrubContext& context_;
  const FindNow find_now_;
  AlignedBuffer buffer_;
};

}  // namespace zenfs
