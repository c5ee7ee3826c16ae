// Files of append buffers on this host: their contents, whether a device still needs them, and their removal.
//
// A file is identified by its header and not by its path, because a container may see the same file under another path.
//
// Threads: no state.
#pragma once

#include <cstdint>
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

// All files in `directories` with a name of append buffers, sorted by path. Skips directories that can't be read.
[[nodiscard]] std::vector<SharedBuffers> FindSharedBuffers(const std::vector<std::string>& directories);
// Examines the file at any path. The result has a problem if it is not a file of append buffers.
[[nodiscard]] SharedBuffers LookAtSharedBuffers(const std::string& path);

// The number of bytes that were flushed into `found` and that the device lacks; all held bytes if the buffers are damaged.
// Nothing if the metadata of the device does not name these buffers, so that no mount will read them. `device` is open for
// reading. Errors: those of reading the superblock and the metadata log.
[[nodiscard]] Result<std::optional<std::uint64_t>> BytesNeededBy(ZonedDevice& device,
                                                                 const SharedBuffers& found);

// Removes the file if it has not changed. Errors: kBusy if a process uses it, or if it has changed since `found`; those of
// SharedMemory::Open and Unlink.
[[nodiscard]] Status RemoveSharedBuffers(const SharedBuffers& found);

}  // namespace zenfs
