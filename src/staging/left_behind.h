// What a process that died left in its append buffers, for the mount that comes after it.
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

// Bytes of one file from `file_offset` on, in the shared memory.
struct LeftBytes {
  FileId owner;
  std::uint64_t file_offset = 0;
  ByteView bytes;
  std::uint64_t appended_seconds = 0;  // of the last append to it, since 1970; 0: not known
  // Of a plain file: what stands in front of them on the device and was not committed.
  std::optional<SetExtents> uncommitted{};

  std::uint64_t end() const { return file_offset + bytes.size(); }
};

struct LeftBehind {
  SharedMemory memory;            // what `pieces` point into; invalid if there was none
  std::vector<LeftBytes> pieces;  // by owner and file offset; one of a plain file
  std::string notice;             // why flushed bytes may be missing, in a sentence; empty if none can be
};

struct WhoseBuffers {
  std::string place;  // as the metadata log has it
  std::string identity;
  Uuid volume;
  std::uint64_t epoch = 0;  // of the mount that died
  std::string boot;         // of the host as it runs now
  std::string key{};        // as the metadata log has it; empty: a program without keys made the buffers
  // Users whose files count, beside root's and those of this process's own: who made the buffers, and the owner of the
  // device. A file of anybody else can't be the one that was made.
  std::vector<std::uint32_t> owners{};
};

// Opens and checks all; changes nothing. Nothing was left when the place is empty or of another boot of the host. A
// file that is gone, belongs to another user, or belongs to another device (this one is a copy), is a notice. Errors:
// all that keeps a file which is there from being read in full: kPermission, kBusy (its process lives), kCorruption; each
// names the path. So are files of other users where there is no key: an older program did not say who had made them.
[[nodiscard]] Result<LeftBehind> OpenLeftBehind(const WhoseBuffers& whose);

// For one who only looks at a volume: what waits for its next read-write mount. Nothing while its writer lives, or if
// that can't be told. A file that keeps the next mount from taking it over is a notice, without
// pieces.
[[nodiscard]] LeftBehind LookAtLeftBehind(const WhoseBuffers& whose);

// Removes files in `directory` that mounts of this device left between making and committing them, finished or not, but
// for `keep`.
// The caller holds the device, so no mount of it is alive.
// Files of users other than `owners`, root and this process's own stay.
void SweepLeftBehind(const std::string& directory, const std::string& identity, const std::string& keep,
                     const std::vector<std::uint32_t>& owners);

}  // namespace zenfs
