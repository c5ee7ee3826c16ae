// The directory seq/ of a mounted zonefs: its files 0, 1, 2, ... are the zones.
#pragma once

#include <sys/types.h>

#include <memory>

#include "backends/zonefs/zone_files.h"

namespace zenfs {

// What the mode of a zone file says, where `granted` are the permission bits that any zone file of the mount has: zonefs
// takes the bits for writing from a zone that the device made read-only and all bits from one that is offline. Root
// may pass over the bits, so that an open tells nothing.
[[nodiscard]] ZoneAccess AccessOfMode(mode_t mode, mode_t granted);

class ZoneDirectory final : public ZoneFiles {
 public:
  // `path` is the directory, absolute. Errors: kInvalidArgument if its files are not the zones 0 to count - 1, at least
  // one; else by the errno.
  [[nodiscard]] static Result<std::unique_ptr<ZoneDirectory>> Open(const std::string& path);

  // One holder on this host, until the directory is closed. kBusy with the holder in the text.
  [[nodiscard]] Status Lock() const;

  dev_t device() const { return device_; }
  // Of the zone files.
  uid_t owner() const { return owner_; }
  // The permission bits that any zone file has.
  mode_t granted() const { return granted_; }
  // Whether this process may read, or read and write, the files by their owner, group and bits. kPermission, naming the
  // first file that it may not.
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
  uid_t owner_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t block_size_ = 0;
  mode_t granted_ = 0;
};

}  // namespace zenfs
