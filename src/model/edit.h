// All kinds of changes to a volume's metadata. The metadata log commits a list of edits all or nothing. Only State::Apply
// applies them, both at run time and in recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/uuid.h"
#include "model/file_record.h"
#include "model/units.h"

namespace zenfs {

// Creates a file. The same commit must give it a name with LinkFile, or it is refused.
struct CreateFile {
  FileId id;
  FileShape shape = FileShape::kPlain;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t mtime_seconds = 0;
  friend bool operator==(const CreateFile&, const CreateFile&) = default;
};

struct CreateDirectory {
  FileId id;
  FileId parent;
  std::string name;
  std::uint64_t mtime_seconds = 0;
  friend bool operator==(const CreateDirectory&, const CreateDirectory&) = default;
};

// Adds a name for a file. The name must be free.
struct LinkFile {
  FileId parent;
  std::string name;
  FileId id;
  friend bool operator==(const LinkFile&, const LinkFile&) = default;
};

// Removes a name of a file. The file is removed with its last name.
struct UnlinkFile {
  FileId parent;
  std::string name;
  friend bool operator==(const UnlinkFile&, const UnlinkFile&) = default;
};

// Renames a file or directory. A file may replace a file, and a directory an empty directory. If the target is another
// name of the same file, the file loses its old name. A rename onto itself does nothing. A directory cannot move below
// itself.
struct RenameEntry {
  FileId from_parent;
  std::string from_name;
  FileId to_parent;
  std::string to_name;
  friend bool operator==(const RenameEntry&, const RenameEntry&) = default;
};

struct RemoveDirectory {
  FileId parent;
  std::string name;
  friend bool operator==(const RemoveDirectory&, const RemoveDirectory&) = default;
};

// Drops the file's extents from `from_offset` on, then appends `extents`, which begin at the end of the remaining ones.
// Used to append, to rewrite the padded last block, to truncate and to replace. An extent that is cut at `from_offset`
// loses its checksum. To keep one, set `from_offset` to the start of that extent and add its shortened copy to `extents`.
// `size` becomes the file's size; for a framed file it counts extents and windows.
struct SetExtents {
  FileId id;
  std::uint64_t from_offset = 0;
  std::vector<Extent> extents;
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  friend bool operator==(const SetExtents&, const SetExtents&) = default;
};

// Replaces the windows of a framed file, to seal its open window, to truncate the file, or to drop frames that were cleaned
// into extents. A plain file becomes framed and keeps its extents. Frames outside the windows with a sequence below
// `next_sequence` are dead from then on. A State does not keep windows without bytes.
struct SealLog {
  FileId id;
  std::vector<LogWindow> windows;
  std::uint64_t next_sequence = 1;
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  friend bool operator==(const SealLog&, const SealLog&) = default;
};

struct SetLifetime {
  FileId id;
  Lifetime lifetime = Lifetime::kNotSet;
  friend bool operator==(const SetLifetime&, const SetLifetime&) = default;
};

struct LogZone {
  ZoneId zone;
  std::uint64_t generation = 0;  // from State::next_generation(); the zones of one commit share it
  std::uint64_t salt = 0;        // random
  std::uint64_t sync_bytes = 0;  // MarkSyncZone; 0: an ordinary log zone
  friend bool operator==(const LogZone&, const LogZone&) = default;
};

// Makes zones ordinary log zones. Frames may be written to them afterwards; generation and salt seed the frames' CRCs.
struct AllocateLogZones {
  std::vector<LogZone> zones;
  friend bool operator==(const AllocateLogZones&, const AllocateLogZones&) = default;
};

// Makes an empty log zone a sync zone: the `bytes` behind its write pointer may hold frames (wal/zrwa_sync_blocks.h). Not all devices
// report the random write area of a zone, so only this edit tells a mount where to look.
struct MarkSyncZone {
  ZoneId zone;
  std::uint64_t bytes = 0;  // not 0
  friend bool operator==(const MarkSyncZone&, const MarkSyncZone&) = default;
};

// Ends the use of log zones: no live log has frames in them, so they may be reset.
struct ReleaseLogZones {
  std::vector<ZoneId> zones;
  friend bool operator==(const ReleaseLogZones&, const ReleaseLogZones&) = default;
};

// Begins a read-write mount: its frames carry this epoch. Epochs only rise.
struct BeginEpoch {
  std::uint64_t epoch = 0;
  friend bool operator==(const BeginEpoch&, const BeginEpoch&) = default;
};

// Raises the counters: ids and generations of log zones below them may be in use. A value that is not above the current
// one leaves its counter unchanged. A commit checks ids and generations at its end, so this edit may be anywhere in it.
struct RaiseCounters {
  std::uint64_t next_id = 0;
  std::uint64_t next_generation = 0;
  friend bool operator==(const RaiseCounters&, const RaiseCounters&) = default;
};

// Sets the place on the host of this mount's append buffers: shared memory that outlives the process (see
// buffers/buffer_area.h). Bytes that were flushed but not synced may be only there. Empty if there are no buffers, as
// after a clean unmount. buffers defines the format of the text.
struct SetBufferPlace {
  std::string place;  // at most kMaxPlaceBytes
  // kBufferKeyBytes random bytes, also in the header of the buffers. Without access to the device or the buffers, nobody
  // can forge the buffers' file. Empty if there are no buffers or a program without keys made them.
  std::string key{};
  std::uint32_t maker = 0;  // the user who made the buffers, if there is a key
  friend bool operator==(const SetBufferPlace&, const SetBufferPlace&) = default;
};

// Sets the key that both devices of a volume on two devices hold since the last read-write mount (format/pair_record.h). Each
// mount sets another one, so a device from an earlier time, or of another pair, is recognized.
struct SetPairKey {
  Uuid key;  // random, not nil
  friend bool operator==(const SetPairKey&, const SetPairKey&) = default;
};

using Edit = std::variant<CreateFile, CreateDirectory, LinkFile, UnlinkFile, RenameEntry, RemoveDirectory,
                          SetExtents, SealLog, SetLifetime, AllocateLogZones, ReleaseLogZones, BeginEpoch,
                          RaiseCounters, SetBufferPlace, MarkSyncZone, SetPairKey>;

inline constexpr std::size_t kMaxNameBytes = 255;
// Of a path without its leading '/': what PATH_MAX of Linux allows. So a path has at most 2048 names. Only new names are held to
// it, not edits: a volume of an earlier version may have longer paths, and they must stay readable and removable.
inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::size_t kMaxPlaceBytes = 512;
inline constexpr std::size_t kBufferKeyBytes = 16;

// Returns true for 1 to kMaxNameBytes bytes without '/' and NUL, except "." and "..".
[[nodiscard]] bool IsValidName(std::string_view name);

// One line of text for messages: `link "000012.sst" in directory 1 to file 7`.
[[nodiscard]] std::string EditText(const Edit& edit);

}  // namespace zenfs
