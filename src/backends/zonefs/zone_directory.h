// The directory seq/ of a mounted zonefs. Its files 0, 1, 2, ... are the zones.
#pragma once

#include <sys/types.h>

#include <memory>

#include "backends/zonefs/zone_files.h"
#include "device/device_owner.h"

namespace zenfs {

// The access that the mode of a zone file allows. `granted`: the permission bits that any zone file
// of the mount has. zonefs clears the write bits of a read-only zone, and all bits of an offline
// zone. Root can ignore the bits, so an open does not reveal the condition.
[[nodiscard]] ZoneAccess AccessOfMode(mode_t mode, mode_t granted);

class ZoneDirectory final : public ZoneFiles {
 public:
  // `path`: the directory, absolute. Errors: kInvalidArgument if its files are not the zones 0 to
  // count - 1, with count at least 1; otherwise by the errno.
  [[nodiscard]] static Result<std::unique_ptr<ZoneDirectory>> Open(const std::string& path);

  // Locks the directory until it is closed: one holder per host. kBusy names the holder.
  [[nodiscard]] Status Lock() const;

  dev_t device() const { return device_; }
  // Of the zone files.
  const DeviceOwner& owner() const { return owner_; }
  // The permission bits that any zone file has.
  mode_t granted() const { return granted_; }
  // Checks by owner, group and bits whether this process may read, or read and write, the files.
  // kPermission names the first file that it may not.
  [[nodiscard]] Status CheckPermission(bool write) const;

  std::uint32_t count() const override { return count_; }
  std::uint32_t block_size() const override { return block_size_; }
  std::string Path(ZoneId zone) const override;
  Result<ZoneFileState> Look(ZoneId zone) const override;
  Result<UniqueFd> OpenToRead(ZoneId zone) const override;
  Result<UniqueFd> OpenToWrite(ZoneId zone) const override;
  Status Truncate(ZoneId zone, std::uint64_t size) const override;
  bool MountedReadOnly() const override;

 private:
  ZoneDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<UniqueFd> OpenZone(ZoneId zone, int access, const char* why) const;

  const std::string path_;
  const UniqueFd fd_;
  dev_t device_ = 0;
  DeviceOwner owner_;
  std::uint32_t count_ = 0;
  std::uint32_t block_size_ = 0;
  mode_t granted_ = 0;
};

}  // namespace zenfs
