// The interface to the files of the zones. zone_directory.h implements it for a mounted zonefs,
// testing/plain_zone_files.h for plain files in tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
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

}  // namespace zenfs
