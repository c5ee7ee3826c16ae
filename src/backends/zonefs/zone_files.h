// The files of the zones of a zonefs: the interface, and ZoneDirectory for the directory of a mount. Tests have plain files
// (testing/plain_zone_files.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "device/zoned_device.h"
#include "model/units.h"

namespace zenfs {

// The message for an error caused by ZoneFiles::MountedReadOnly.
inline constexpr std::string_view kMountWentReadOnly =
    "zonefs made the whole mount read-only after an error; as root: "
    "mount -o remount,rw,explicit-open,errors=repair MOUNTPOINT";

enum class ZoneAccess : std::uint8_t {
  kWritable,
  kReadOnly,  // the device allows no more writes to the zone
  kOffline,   // no writes and no reads
};

// The state of a zone, read from its file.
struct ZoneFileState {
  std::uint64_t size = 0;      // bytes from the start of the zone to its write pointer
  std::uint64_t capacity = 0;  // bytes; size == capacity: full
  ZoneAccess access = ZoneAccess::kWritable;
};

// Threads: any.
class ZoneFiles {
 public:
  virtual ~ZoneFiles() = default;

  virtual std::uint32_t count() const = 0;
  virtual std::uint32_t block_size() const = 0;  // bytes
  // The path for messages: "/mnt/z/seq/7".
  virtual std::string Path(ZoneId zone) const = 0;

  [[nodiscard]] virtual Result<ZoneFileState> Look(ZoneId zone) const = 0;
  // Errors: kPermission, otherwise by the errno.
  [[nodiscard]] virtual Result<UniqueFd> OpenToRead(ZoneId zone) const = 0;
  // With the mount option explicit-open, this opens the zone if the file is not full, and closing
  // its last such descriptor closes the zone. Errors: kBusy at a limit of open or active zones,
  // otherwise as above.
  [[nodiscard]] virtual Result<UniqueFd> OpenToWrite(ZoneId zone) const = 0;
  // `size` 0 resets the zone; `size` equal to its capacity finishes it. Needs no open zone. Errors:
  // kBusy as above.
  [[nodiscard]] virtual Status Truncate(ZoneId zone, std::uint64_t size) const = 0;
  // True if no file can be written: mounted read-only, or zonefs became read-only after an error
  // (errors=remount-ro).
  virtual bool MountedReadOnly() const = 0;
};

// The access that the mode of a zone file allows. `granted`: the permission bits that any zone file
// of the mount has. zonefs clears the write bits of a read-only zone, and all bits of an offline
// zone. Root can ignore the bits, so an open does not reveal the condition.
[[nodiscard]] ZoneAccess AccessOfMode(mode_t mode, mode_t granted);

// The directory seq/ of a mounted zonefs. Its files 0, 1, 2, ... are the zones.
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
