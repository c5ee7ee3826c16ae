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
#include <functional>
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
// too long for LineReader, and for more than kRestoreRunsAtMost lines that are incomplete.
[[nodiscard]] Result<std::map<std::uint64_t, RestoreLine>> ParseRestoreRecord(std::string_view text,
                                                                              std::string_view identity);

// A run that continues a restore adds one line feed, and a crash cuts at most one line.
inline constexpr std::uint64_t kRestoreRunsAtMost = 10'000;

class RestoreRecord {
 public:
  using Line = RestoreLine;

  using GoingOn = std::function<Status()>;

  // Reads what an interrupted restore of `identity` left, and changes nothing. Ignores remains of
  // other restores. `files`: the number of files in the source, which limits the length of a true record. Calls `going_on`
  // every kLinesACheck lines and returns its error. Errors: also kCorruption for a record that is longer, and as
  // ParseRestoreRecord.
  static constexpr std::uint64_t kLinesACheck = 1000;
  [[nodiscard]] static Result<std::unique_ptr<RestoreRecord>> Open(Volume& volume,
                                                                   const std::string& identity,
                                                                   std::uint64_t files,
                                                                   const GoingOn& going_on);

  // True if that restore has already created `item` at the path `destination`.
  [[nodiscard]] bool Has(const RestoreItem& item, const std::string& destination) const;

  // Creates or empties the staging directory, and opens the record.
  [[nodiscard]] Status Begin() EXCLUDES(mutex_);
  // The path at which a file is written until it gets its name `name`. `stem` distinguishes the files of one run. The volume
  // chooses the shape of a file by its name.
  static std::string StagingPath(std::string_view stem, std::string_view name);
  // Durable on return.
  [[nodiscard]] Status Add(std::uint64_t id, const Line& line) EXCLUDES(mutex_);
  // Ends the restore: removes the staging directory, then the record. After a crash, the restore
  // can be continued or is complete.
  [[nodiscard]] Status End() EXCLUDES(mutex_);

 private:
  RestoreRecord(Volume& volume, std::string identity) : volume_(volume), identity_(std::move(identity)) {}
  [[nodiscard]] Status Read(std::uint64_t files, const GoingOn& going_on);
  [[nodiscard]] Status EmptyStaging();

  Volume& volume_;
  const std::string identity_;
  std::map<std::uint64_t, Line> lines_;
  Mutex mutex_;  // held during the write and sync of a line
  std::unique_ptr<FileHandle> log_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
