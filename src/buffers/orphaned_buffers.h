// Reads the append buffers of a process that died, for the next mount. buffers/live_buffers.h uses the same code for readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_memory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "format/buffer_area_layout.h"
#include "model/edit.h"
#include "model/units.h"

namespace zenfs {

// Bytes of one file from `file_offset` on. They are in the shared memory.
struct OrphanedBytes {
  FileId owner;
  std::uint64_t file_offset = 0;
  ByteView bytes;
  std::uint64_t appended_seconds = 0;  // of the last append to the file, since 1970; 0: unknown
  bool plain = false;                  // of a plain file: the following applies
  // Extents before `bytes` that are on the device and were not committed; null if there are none. Shared, because readers copy
  // this for each file that they open.
  std::shared_ptr<const SetExtents> uncommitted{};

  std::uint64_t end() const { return file_offset + bytes.size(); }
  // True if a truncation was committed after these bytes were flushed, and the process had not emptied their buffer yet. Then they
  // do not belong to the file any more, and none is missing before them. `size`: of the file on the device. A plain file
  // flushes what follows its committed bytes, so only a truncation can leave a gap between the two.
  bool IsStale(std::uint64_t size) const {
    return plain && (uncommitted ? uncommitted->from_offset : file_offset) > size;
  }
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

// --- parts that readers beside a writer also use ---

// The control of a slot (format/buffer_area_layout.h) as a value.
struct SlotControl {
  std::uint64_t published = 0;
  std::uint64_t owner = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t appended_seconds = 0;

  bool empty() const { return published == 0; }
  // True if both have bytes of the same file from the same offset on, behind a record of the same length.
  bool SamePlace(const SlotControl& other) const {
    return owner == other.owner && file_offset == other.file_offset && record_bytes == other.record_bytes;
  }
  friend bool operator==(const SlotControl&, const SlotControl&) = default;
};
struct SlotContent {
  OrphanedBytes piece;                 // its bytes point into the argument of ReadSlot
  std::optional<std::uint64_t> order;  // plain files only
  std::uint32_t slot = 0;
};

// Checks the length in the control. Errors: kCorruption.
[[nodiscard]] Status CheckSlotLength(const BufferAreaHeader& header, std::uint32_t slot,
                                     const SlotControl& control);
// The seed of the CRC of the slot's bytes.
[[nodiscard]] std::uint32_t SlotSeed(const BufferAreaHeader& header, const WhoseBuffers& whose,
                                     const SlotControl& control);
// Decodes the published bytes `all` of a slot; their CRC is `crc`. Errors: kCorruption, also for a record of more extents than
// RecordedExtentsMax.
[[nodiscard]] Result<SlotContent> ReadSlot(const BufferAreaHeader& header, std::uint32_t slot,
                                           const SlotControl& control, ByteView all, std::uint32_t crc);
// Makes `content` that of `control` and `all`, which have more bytes at the same place behind the same record.
void ExtendContent(SlotContent& content, const SlotControl& control, ByteView all);
// Of several tails of one plain file, keeps the one with the highest order. Sorts the rest by owner and file offset.
void KeepLatestTails(std::vector<SlotContent>& contents);
// Errors: kCorruption if another mount made the buffers, or if they lack the key.
[[nodiscard]] Status CheckIsOfMount(const BufferAreaHeader& header, const WhoseBuffers& whose,
                                    const std::string& path);
// The notice about a file that exists and can't have been made by a trusted user, or nothing.
[[nodiscard]] std::optional<std::string> ForeignNotice(const std::string& path, const WhoseBuffers& whose);
// The notice about the buffers of the device that this one is a copy of.
[[nodiscard]] std::string CopyNotice(const std::string& path);

// Removes files in `directory` that mounts of this device created, finished or not, and did not
// commit. Keeps the file `keep`, and files of users other than `owners`, root and the user of this
// process. The caller holds the device, so no mount of it is alive.
void SweepOrphanedBuffers(const std::string& directory, const std::string& identity, const std::string& keep,
                          const std::vector<std::uint32_t>& owners);

}  // namespace zenfs
