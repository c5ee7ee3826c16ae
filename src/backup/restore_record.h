// The record that a restore keeps in the volume, so that an interrupted restore can continue.
// kRestoreRecord is a log that identifies the restore and has a line for each file, written before
// the file gets its name. kRestoreStaging is a directory of files without their names. If a file
// has the id, the path, the size and the source of a line, this restore created it, complete and verified. A line has a checksum of
// the path, which may be as long as a page: the record of many small files would need more room than
// they do.
//
// Threads: any for Add; all other functions by one thread, not concurrently.
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

// The line of one file, beside its id.
struct RestoreLine {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // mtime of the host's file
  std::uint32_t crc32c = 0;
  std::uint32_t path_crc32c = 0;  // of the path in the volume, normalised
};

// Returns the lines of a record by file id; none if the record is of another restore. Takes any
// bytes: incomplete lines, as after a crash, are ignored. Errors: kCorruption for a line that is
// too long for LineReader.
[[nodiscard]] Result<std::map<std::uint64_t, RestoreLine>> ParseRestoreRecord(std::string_view text,
                                                                              std::string_view identity);

class RestoreRecord {
 public:
  using Line = RestoreLine;

  // Reads what an interrupted restore of `identity` left, and changes nothing. Ignores remains of
  // other restores.
  [[nodiscard]] static Result<std::unique_ptr<RestoreRecord>> Open(Volume& volume,
                                                                   const std::string& identity);

  // True if that restore has already created `item` at the path `destination`.
  [[nodiscard]] bool Has(const RestoreItem& item, const std::string& destination) const;

  // Creates or empties the staging directory, and opens the record.
  [[nodiscard]] Status Begin() EXCLUDES(mutex_);
  // The path at which file `number` of this run is written until it gets its name `name`. The
  // volume chooses the shape of a file by its name.
  static std::string StagingPath(std::size_t number, std::string_view name);
  // Durable on return.
  [[nodiscard]] Status Add(std::uint64_t id, const Line& line) EXCLUDES(mutex_);
  // Ends the restore: removes the staging directory, then the record. After a crash, the restore
  // can be continued or is complete.
  [[nodiscard]] Status End() EXCLUDES(mutex_);

 private:
  RestoreRecord(Volume& volume, std::string identity) : volume_(volume), identity_(std::move(identity)) {}
  [[nodiscard]] Status Read();
  [[nodiscard]] Status EmptyStaging();

  Volume& volume_;
  const std::string identity_;
  std::map<std::uint64_t, Line> lines_;
  Mutex mutex_;  // held during the write and sync of a line
  std::unique_ptr<FileHandle> log_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
