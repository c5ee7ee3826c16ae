// The closed set of changes to a volume's metadata. Every change is a list of edits that the metadata log
// commits as one frame, all or nothing; State::Apply is the only thing that carries one out, at run time as
// in recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/file_record.h"
#include "model/units.h"

namespace zenfs {

// A file without a name yet; its commit gives it one (LinkFile), or is refused.
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

// One more name for a file. The name must be free.
struct LinkFile {
  FileId parent;
  std::string name;
  FileId id;
  friend bool operator==(const LinkFile&, const LinkFile&) = default;
};

// Takes a file's name away; the file ends with its last name.
struct UnlinkFile {
  FileId parent;
  std::string name;
  friend bool operator==(const UnlinkFile&, const UnlinkFile&) = default;
};

// Moves a file or directory. Replaces a file by a file and an empty directory by a directory; the target may
// be another name of the same file, which then has one name less. Onto itself: nothing. A directory cannot
// move below itself.
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

// Drops all of the file's extents from `from_offset` on (cutting the one that holds it, which then has no checksum any
// more; to keep one, begin at the extent and give what is left of it anew), then adds `extents`,
// which begin at the end of what remains. Appending, rewriting the padded tail block, truncating and
// replacing are this one edit. `size` becomes the file's size; for a framed file it counts extents and
// windows.
struct SetExtents {
  FileId id;
  std::uint64_t from_offset = 0;
  std::vector<Extent> extents;
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  friend bool operator==(const SetExtents&, const SetExtents&) = default;
};

// Replaces the windows of a framed file: seals its open window, truncates it, or drops what was cleaned into
// extents. A plain file becomes framed: its extents stay, and its windows follow them. Frames outside the windows with a sequence below `next_sequence` are dead from here on.
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
  std::uint64_t generation = 0;  // from State::next_generation(), never used twice
  std::uint64_t salt = 0;        // random
  friend bool operator==(const LogZone&, const LogZone&) = default;
};

// From here on frames may be written to these zones, their CRC seeded with generation and salt.
struct AllocateLogZones {
  std::vector<LogZone> zones;
  friend bool operator==(const AllocateLogZones&, const AllocateLogZones&) = default;
};

// No live log has frames in these zones any more; they may be reset.
struct ReleaseLogZones {
  std::vector<ZoneId> zones;
  friend bool operator==(const ReleaseLogZones&, const ReleaseLogZones&) = default;
};

// A read-write mount: frames written from now on carry this epoch. Epochs only rise.
struct BeginEpoch {
  std::uint64_t epoch = 0;
  friend bool operator==(const BeginEpoch&, const BeginEpoch&) = default;
};

// Ids and log-zone generations below these may have been handed out. Both only rise: a value below the
// present one (0, say) leaves that counter alone. Ids and generations used in a commit are checked at its
// end, so this edit may stand anywhere in it.
struct RaiseCounters {
  std::uint64_t next_id = 0;
  std::uint64_t next_generation = 0;
  friend bool operator==(const RaiseCounters&, const RaiseCounters&) = default;
};

// Where on the host the append buffers of the present mount are kept (shared memory that outlives the process, see
// staging/staging_area.h): bytes that were flushed and not synced may be there and nowhere else. Empty: there are
// none, as after a clean unmount. The text is staging's; the state only carries it.
struct SetBufferPlace {
  std::string place;  // at most kMaxPlaceBytes
  // kBufferKeyBytes random bytes that the header of the buffers repeats: nobody who can read neither the device nor the
  // buffers can make a file that passes for them. Empty: a program without keys made the buffers, or there are none.
  std::string key{};
  std::uint32_t maker = 0;  // the user who made the buffers, if there is a key
  friend bool operator==(const SetBufferPlace&, const SetBufferPlace&) = default;
};

using Edit = std::variant<CreateFile, CreateDirectory, LinkFile, UnlinkFile, RenameEntry, RemoveDirectory,
                          SetExtents, SealLog, SetLifetime, AllocateLogZones, ReleaseLogZones, BeginEpoch,
                          RaiseCounters, SetBufferPlace>;

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxPlaceBytes = 512;
inline constexpr std::size_t kBufferKeyBytes = 16;

// What may stand as a name in a directory: 1 to kMaxNameBytes bytes, no '/', no NUL, not "." and not "..".
[[nodiscard]] bool IsValidName(std::string_view name);

// One line for a person: `link "000012.sst" in directory 1 to file 7`.
[[nodiscard]] std::string EditText(const Edit& edit);

}  // namespace zenfs
