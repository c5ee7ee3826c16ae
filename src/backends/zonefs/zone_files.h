// The files of the zones, as the device above sees them. zone_directory.h is the one of a mounted zonefs; tests put one
// of plain files in its place (testing/plain_zone_files.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "model/units.h"

namespace zenfs {

// For the message of what failed because of ZoneFiles::MountedReadOnly.
inline constexpr std::string_view kMountWentReadOnly =
    "zonefs made the whole mount read-only after an error; as root: "
    "mount -o remount,rw,explicit-open,errors=repair MOUNTPOINT";

enum class ZoneAccess : std::uint8_t {
  kWritable,
  kReadOnly,  // the device took the zone out of writing
  kOffline,   // nor can it be read
};

// What a zone file says of its zone.
struct ZoneFileState {
  std::uint64_t size = 0;      // bytes from the start of the zone to its write pointer
  std::uint64_t capacity = 0;  // bytes; size == capacity: full
  ZoneAccess access = ZoneAccess::kWritable;
};

// Threads: any, at any time.
class ZoneFiles {
 public:
  virtual ~ZoneFiles() = default;

  virtual std::uint32_t count() const = 0;
  virtual std::uint32_t block_size() const = 0;  // bytes
  // For messages: "/mnt/z/seq/7".
  virtual std::string Path(ZoneId zone) const = 0;

  [[nodiscard]] virtual Result<ZoneFileState> Look(ZoneId zone) const = 0;
  // Errors: kPermission, else by the errno.
  [[nodiscard]] virtual Result<UniqueFd> OpenToRead(ZoneId zone) const = 0;
  // Under the mount option explicit-open this opens the zone of a file that is not full, and closing the last such
  // descriptor closes it. Errors: kBusy where a limit of open or active zones is reached, else as above.
  [[nodiscard]] virtual Result<UniqueFd> OpenToWrite(ZoneId zone) const = 0;
  // `size` is 0, which resets the zone, or its capacity, which finishes it. Takes no open zone. Errors: kBusy as above.
  [[nodiscard]] virtual Status Truncate(ZoneId zone, std::uint64_t size) const = 0;
  // No file can be written: mounted so, or made so by zonefs after an error (mount option errors=remount-ro).
  virtual bool MountedReadOnly() const = 0;
};

}  // namespace zenfs
