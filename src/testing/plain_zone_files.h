// Plain files of a directory as zone files: behave like zonefs in sizes, permission bits and limits
// of open zones, on a host without zonefs. The one difference: nobody enforces the order of writes,
// so the device above must.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backends/zonefs/zone_files.h"

namespace zenfs {

class PlainZoneFiles final : public ZoneFiles {
 public:
  struct Shape {
    std::uint32_t zones = 12;
    std::uint64_t capacity = 48 * 4096;  // bytes
    std::uint32_t block_size = 4096;     // bytes
    std::uint32_t max_open = 0;          // zones open for writing at once, as with explicit-open; 0: no limit
  };

  // `directory` must exist. Creates missing files, empty. Aborts if that fails.
  PlainZoneFiles(std::string directory, const Shape& shape);

  std::uint32_t count() const override { return shape_.zones; }
  std::uint32_t block_size() const override { return shape_.block_size; }
  std::string Path(ZoneId zone) const override;
  // The permission bits give the access, as zonefs shows it for a failed zone.
  Result<ZoneFileState> Look(ZoneId zone) const override;
  Result<UniqueFd> OpenToRead(ZoneId zone) const override;
  Result<UniqueFd> OpenToWrite(ZoneId zone) const override;
  Status Truncate(ZoneId zone, std::uint64_t size) const override;
  bool MountedReadOnly() const override { return mounted_read_only; }

  // One holder at a time, for the life of this object.
  [[nodiscard]] Status Lock();

  // The numbers of the zones whose files this process has open for writing, sorted: "0 3 11".
  std::string OpenForWriting() const;

  std::atomic<bool> writes_fail{false};   // of files opened from now on; ENOSPC, and nothing is written
  std::atomic<bool> flushes_fail{false};  // of files opened from now on; they can't be read either
  std::atomic<bool> truncates_fail{false};
  std::atomic<bool> truncates_lie{false};  // they succeed and report an error
  std::atomic<bool> finish_opens{false};   // a finish of a zone that is not open fails at the limit
  std::atomic<bool> mounted_read_only{false};
  mutable std::atomic<int> truncates{0};  // number of calls

 private:
  const std::string directory_;
  const Shape shape_;
  UniqueFd lock_;
};

}  // namespace zenfs
