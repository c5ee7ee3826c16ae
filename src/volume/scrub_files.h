// The part of a scrub that reads the extents of files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/file_record.h"
#include "volume/file_names.h"
#include "volume/scrub_context.h"

namespace zenfs {

class FileScrub {
 public:
  // Returns the file's present record; null if it is gone.
  using FindNow = std::function<std::shared_ptr<const FileRecord>(FileId)>;

  FileScrub(ScrubContext& context, FindNow find_now);

  // Reads all extents of the file. Apparent damage is reported if the file has not changed meanwhile; otherwise its new
  // extents are read. Errors: those of PresenceMark::Check.
  [[nodiscard]] Status File(std::shared_ptr<const FileRecord> record, const FileNames& names);

 private:
  struct Damage {
    DeviceOffset place;
    std::uint64_t from = 0;  // bytes of the file
    std::uint64_t to = 0;
    std::string what;
  };
  struct Outcome {
    std::vector<Damage> damage;  // at most Findings::kKeptAtMost
    std::uint64_t omitted = 0;
    std::uint64_t extents_without_checksum = 0;
    std::uint64_t bytes_without_checksum = 0;
  };
  Result<Outcome> Read(const FileRecord& record);
  Status ReadExtent(const Extent& extent, Outcome& outcome);
  struct Unreadable {  // bytes of an extent
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::string error;
  };
  // Finds the unreadable blocks of the piece that begins at byte `at` of the extent and is as long as the buffer.
  void FindUnreadable(const Extent& extent, std::uint64_t at, std::vector<Unreadable>& runs);
  Finding FindingOf(const Damage& damage, FileId file, const FileNames& names) const;

  ScrubContext& context_;
  const FindNow find_now_;
  AlignedBuffer buffer_;
};

}  // namespace zenfs
