// Zone files that are plain files of a directory: what zonefs does with sizes, permission bits and limits of open zones,
// on a host without zonefs. Differs in that nobody enforces the order of writes: the device above must.
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
    std::uint32_t max_open =
        0;  // zones; opening one more for writing fails as under explicit-open; 0: no limit
  };

  // `directory` exists; files that are not in it are made, empty. Aborts if that fails.
  PlainZoneFiles(std::string directory, const Shape& shape);

  std::uint32_t count() const override { return shape_.zones; }
  std::uint32_t block_size() const override { return shape_.block_size; }
  std::string Path(ZoneId zone) const override;
  // Permission bits tell the access, as zonefs shows it of a dead zone.
  Result<ZoneFileState> Look(ZoneId zone) const override;
  Result<UniqueFd> OpenToRead(ZoneId zone) const override;
  Result<UniqueFd> OpenToWrite(ZoneId zone) const override;
  Status Truncate(ZoneId zone, std::uint64_t size) const override;
  bool MountedReadOnly() const override { return mounted_read_only; }

  // One holder at a time, as long as this lives.
  [[nodiscard]] Status Lock();

  // Zones whose files this process has open for writing, one digit string each, sorted: "0 3 11".
  std::string OpenForWriting() const;

  std::atomic<bool> writes_fail{false};   // of files opened from now on, with ENOSPC, nothing written
  std::atomic<bool> flushes_fail{false};  // of files opened from now on; they can't be read either
  std::atomic<bool> truncates_fail{false};
  std::atomic<bool> truncates_lie{false};  // are carried out and fail all the same
  std::atomic<bool> finish_opens{
      false};  // a finish of a zone that is not open fails where one too many would be
  std::atomic<bool> mounted_read_only{false};
  mutable std::atomic<int> truncates{0};  // that were asked for

 private:
  const std::string directory_;
  const Shape shape_;
  UniqueFd lock_;
};

}  // namespace zenfs
