// Files of append buffers on this host: their contents, whether a device still needs them, and their removal.
//
// A file is identified by its header and not by its path, because a container may see the same file under another path.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"

namespace zenfs {

struct SharedBuffers {
  std::string path;
  std::uint32_t user = 0;        // id of the user who owns the file
  std::uint64_t size = 0;        // bytes of memory
  bool in_use = false;           // the process that made it still runs
  std::optional<Error> problem;  // if set, the members below are unknown
  // False: the process died before it wrote the header, so the file holds no flushed bytes.
  bool finished = false;
  Uuid volume;
  std::string identity;  // of the device, see ZonedDevice::identity
  std::uint64_t epoch = 0;
  std::string key;  // see SetBufferPlace
  std::uint32_t process = 0;
  std::uint64_t created_seconds = 0;  // since 1970
  // Flushed bytes in the buffers. Some may be on the device although the process did not learn it before it died.
  std::uint64_t held_bytes = 0;
};

struct FoundBuffers {
  std::vector<SharedBuffers> files;  // sorted by path
  std::uint64_t omitted = 0;         // files beyond kFilesLookedAt
};
// Everybody may create files in these directories. So at most this many are examined, first those of this user and root.
inline constexpr std::size_t kFilesLookedAt = 10'000;
// All files in `directories` with a name of append buffers. Skips directories that can't be read.
[[nodiscard]] FoundBuffers FindSharedBuffers(const std::vector<std::string>& directories,
                                             std::size_t at_most = kFilesLookedAt);
// Examines the file at any path. The result has a problem if it is not a file of append buffers. Reads the header and the
// controls of the slots, at most 260 KiB.
[[nodiscard]] SharedBuffers LookAtSharedBuffers(const std::string& path);

// Tells which buffers a device needs. Everybody may create files that claim to be buffers of the device, so its metadata log is
// replayed once, and the contents of at most kContentsRead files are read.
//
// Threads: one at a time.
class NeededBuffers {
 public:
  // Mounts make one file; a copy of it may be there, too.
  static constexpr int kContentsRead = 4;

  // `device` is open for reading, and outlives this object.
  explicit NeededBuffers(ZonedDevice& device);
  ~NeededBuffers();

  // The number of bytes that were flushed into `found` and that the device lacks; all held bytes if the buffers are damaged.
  // Nothing if the metadata of the device does not name these buffers, so that no mount will read them. `found` was examined
  // before the first call: later mounts are not noticed. Errors: those of reading the superblock and the metadata log; kBusy
  // after kContentsRead files.
  [[nodiscard]] Result<std::optional<std::uint64_t>> BytesOf(const SharedBuffers& found);

 private:
  struct Metadata;
  [[nodiscard]] static Result<std::unique_ptr<Metadata>> ReadMetadata(ZonedDevice& device);

  ZonedDevice& device_;
  std::optional<Result<std::unique_ptr<Metadata>>> metadata_;  // from the first call that needs it on
  int contents_read_ = 0;
};

// Removes the file if it has not changed. Errors: kBusy if a process uses it, or if it has changed since `found`; those of
// SharedMemory::Open and Unlink.
[[nodiscard]] Status RemoveSharedBuffers(const SharedBuffers& found);

}  // namespace zenfs
