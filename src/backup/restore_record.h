// What a restore notes in the volume, so that an interrupted one can go on: kRestoreRecord, a log that says whose
// it is, and a line for each file, written before the file gets its name; and kRestoreStaging, a directory of
// files without their names. The file that a line
// names has the id of the line exactly if it was put there by that restore, whole and verified.
//
// Threads: Add by any; all else by one, not beside it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backup/restore_source.h"
#include "base/mutex.h"
#include "volume/volume.h"

namespace zenfs {

// What the record says of one file.
struct RestoreLine {
  std::uint64_t id = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // of the host's file
  std::uint32_t crc32c = 0;
};

// The lines of a record by destination; none if it is another restore's. Takes any bytes: what is no whole line is passed
// over, as what a crash leaves. Errors: kCorruption for a line that is longer than LineReader takes.
[[nodiscard]] Result<std::map<std::string, RestoreLine>> ParseRestoreRecord(std::string_view text,
                                                                            std::string_view identity);

class RestoreRecord {
 public:
  using Line = RestoreLine;

  // Reads what an interrupted restore of `identity` left, changing nothing. What another one left is ignored.
  [[nodiscard]] static Result<std::unique_ptr<RestoreRecord>> Open(Volume& volume,
                                                                   const std::string& identity);

  // Whether that restore has put `item` there already.
  [[nodiscard]] bool Has(const RestoreItem& item) const;

  // Makes the staging directory, or empties the one that is there, and opens the record.
  [[nodiscard]] Status Begin() EXCLUDES(mutex_);
  // Where file `number` of this run is written until it gets its name, which is `name`'s: the volume picks the
  // shape of a file by its name.
  static std::string StagingPath(std::size_t number, std::string_view name);
  // Durable when it returns.
  [[nodiscard]] Status Add(const std::string& destination, const Line& line) EXCLUDES(mutex_);
  // The restore is complete: nothing is left of either. The record goes last, so that a crash leaves a restore
  // that goes on, or a complete one.
  [[nodiscard]] Status End() EXCLUDES(mutex_);

 private:
  RestoreRecord(Volume& volume, std::string identity) : volume_(volume), identity_(std::move(identity)) {}
  [[nodiscard]] Status Read();
  [[nodiscard]] Status EmptyStaging();

  Volume& volume_;
  const std::string identity_;
  std::map<std::string, Line> lines_;
  Mutex mutex_;  // held while a line is written and synced
  std::unique_ptr<FileHandle> log_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
