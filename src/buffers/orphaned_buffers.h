// Reads the append buffers of a process that died, for the next mount.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_memory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/edit.h"
#include "model/units.h"

namespace zenfs {

// Bytes of one file from `file_offset` on. They are in the shared memory.
struct OrphanedBytes {
  FileId owner;
  std::uint64_t file_offset = 0;
  ByteView bytes;
  std::uint64_t appended_seconds = 0;  // of the last append to the file, since 1970; 0: unknown
  // Plain files only: extents before `bytes` that are on the device and were not committed.
  std::optional<SetExtents> uncommitted{};

  std::uint64_t end() const { return file_offset + bytes.size(); }
};

struct OrphanedBuffers {
  SharedMemory memory;                // `pieces` point into it; invalid if there was none
  std::vector<OrphanedBytes> pieces;  // by owner and file offset; at most one per plain file
  std::string notice;  // one sentence: why flushed bytes may be missing; empty if all are there
};

struct WhoseBuffers {
  std::string place;  // as the metadata log has it
  std::string identity;
  Uuid volume;
  std::uint64_t epoch = 0;  // of the mount that died
  std::string boot;         // of the host as it runs now
  std::string key{};        // as the metadata log has it; empty: a program without keys made the buffers
  // Users whose files are accepted, beside root and the user of this process: the maker of the
  // buffers and the owner of the device. Files of other users are ignored.
  std::vector<std::uint32_t> owners{};
};

// Opens and checks the append buffers of the mount that `whose` describes; changes nothing. Returns
// nothing if the place is empty or from an earlier boot of the host. A notice is given for a file
// that is gone, belongs to another user, or belongs to another device (this device is a copy).
// Errors: kPermission, kBusy (its process lives; the text says so if it has another device, so that this one is a copy) and kCorruption if the file exists and can't be
// read in full; each names the path. A file of another user is an error if there is no key, because
// an older program did not record who made the file.
[[nodiscard]] Result<OrphanedBuffers> OpenOrphanedBuffers(const WhoseBuffers& whose);

// For a read-only look at a volume: the buffers that the next read-write mount will take over.
// Empty while the writer lives, or if that is unknown. A file that the next mount cannot take over
// gives a notice and no pieces.
[[nodiscard]] OrphanedBuffers LookAtOrphanedBuffers(const WhoseBuffers& whose);

// Removes files in `directory` that mounts of this device created, finished or not, and did not
// commit. Keeps the file `keep`, and files of users other than `owners`, root and the user of this
// process. The caller holds the device, so no mount of it is alive.
void SweepOrphanedBuffers(const std::string& directory, const std::string& identity, const std::string& keep,
                          const std::vector<std::uint32_t>& owners);

}  // namespace zenfs
