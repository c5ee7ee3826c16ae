// Files of append buffers on this host: what is in them, whether a device still needs it, and their removal.
//
// A file is known by its header, not by its path: a container may see the same file under another one.
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
  std::uint32_t user = 0;        // id of the user that the file belongs to
  std::uint64_t size = 0;        // bytes of memory that it takes
  bool in_use = false;           // by the process that made it
  std::optional<Error> problem;  // why nothing of what follows is known
  // False: the process died before it had written the header, so before anything was flushed into it.
  bool finished = false;
  Uuid volume;
  std::string identity;  // of the device, see ZonedDevice::identity
  std::uint64_t epoch = 0;
  std::string key;  // see SetBufferPlace
  std::uint32_t process = 0;
  std::uint64_t created_seconds = 0;  // since 1970
  std::uint64_t held_bytes =
      0;  // flushed, and not known to be on the device by the process that made the file
};

// All files in `directories` that have a name of append buffers, by path. A directory that can't be read has none.
[[nodiscard]] std::vector<SharedBuffers> FindSharedBuffers(const std::vector<std::string>& directories);
// Takes any path. What is no file of append buffers has a problem.
[[nodiscard]] SharedBuffers LookAtSharedBuffers(const std::string& path);

// How many bytes the device lacks of what was flushed into `found`; nothing if the metadata of the device does not
// name these buffers, so that no mount will look at them. `device` is open for reading. If the buffers are damaged, all
// that they hold counts. Errors: those of reading superblock and metadata log.
[[nodiscard]] Result<std::optional<std::uint64_t>> BytesNeededBy(ZonedDevice& device,
                                                                 const SharedBuffers& found);

// Removes the file if it still is as it was found. Errors: kBusy if a process uses it, or it was changed since; those of
// SharedMemory::Open and Unlink.
[[nodiscard]] Status RemoveSharedBuffers(const SharedBuffers& found);

}  // namespace zenfs
