// The format of an emulated device's file (docs/formats/emulated-device.md): opens, checks and
// locks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/emulator/emulator.h"
#include "backends/emulator/zone_machine.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

inline constexpr char kEmulatedFileMagic[8] = {'Z', 'E', 'N', 'F', 'S', 'E', 'M', 'U'};
// A device with a volatile cache has another version, so that programs that do not know its second
// table refuse it.
inline constexpr std::uint32_t kEmulatedFileVersion = 1;
inline constexpr std::uint32_t kEmulatedCacheVersion = 2;
// The same for a device with random write areas; it has a volatile cache if durable_offset is not zero.
inline constexpr std::uint32_t kEmulatedRandomVersion = 3;
inline constexpr std::uint64_t kEmulatedHeaderBytes = 4096;
inline constexpr std::uint64_t kEmulatedDataAlignment = 2u << 20;

// The first bytes of the file, little-endian, followed by zeros up to kEmulatedHeaderBytes. Every
// version keeps magic, version and crc at these offsets, and the bytes that the crc covers.
struct EmulatedFileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t crc;  // CRC32C of all kEmulatedHeaderBytes, with this field zero
  std::uint32_t block_size;
  std::uint32_t zones;
  std::uint64_t zone_size;
  std::uint64_t zone_capacity;
  std::uint32_t conventional;
  std::uint32_t max_open;
  std::uint32_t max_active;
  std::uint32_t timing;  // the number of a Timing
  std::uint64_t table_offset;
  std::uint64_t data_offset;
  std::uint8_t uuid[16];
  char model[32];                // zero-padded
  std::uint64_t durable_offset;  // since version 2; zero before, and without a volatile cache
  // Since version 3; zero before.
  std::uint64_t random_area;
  std::uint64_t random_unit;
  std::uint32_t random_zones;
  std::uint32_t
      reserved;  // 1: the file has all of its space, and resets keep it. Older programs give it back
};
static_assert(sizeof(EmulatedFileHeader) == 152);
static_assert(offsetof(EmulatedFileHeader, version) == 8);
static_assert(offsetof(EmulatedFileHeader, crc) == 12);
static_assert(offsetof(EmulatedFileHeader, zone_size) == 24);
static_assert(offsetof(EmulatedFileHeader, table_offset) == 56);
static_assert(offsetof(EmulatedFileHeader, uuid) == 72);
static_assert(offsetof(EmulatedFileHeader, model) == 88);
static_assert(offsetof(EmulatedFileHeader, durable_offset) == 120);
static_assert(offsetof(EmulatedFileHeader, random_area) == 128);
static_assert(offsetof(EmulatedFileHeader, random_zones) == 144);
static_assert(offsetof(EmulatedFileHeader, reserved) == 148);

// The state of a zone in one word. One store changes it, so the death of a process cannot leave
// half of a change.
//
//   bits 0..3   condition, in the numbers of the NVMe ZNS specification (conventional: 0)
//   bit  4      has a random write area: open and closed zones only
//   bits 5..7   zero
//   bits 8..63  blocks written
inline constexpr std::uint64_t kRandomAreaBit = 0x10;

constexpr std::uint64_t PackZone(MachineZone state) {
  std::uint64_t code = 0;
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer: code = 0x0; break;
    case ZoneCondition::kEmpty: code = 0x1; break;
    case ZoneCondition::kImplicitlyOpen: code = 0x2; break;
    case ZoneCondition::kExplicitlyOpen: code = 0x3; break;
    case ZoneCondition::kClosed: code = 0x4; break;
    case ZoneCondition::kReadOnly: code = 0xd; break;
    case ZoneCondition::kFull: code = 0xe; break;
    case ZoneCondition::kOffline: code = 0xf; break;
  }
  return state.written << 8 | (state.random_area ? kRandomAreaBit : 0) | code;
}

// Returns nothing for a word with an unknown condition.
constexpr std::optional<MachineZone> UnpackZone(std::uint64_t word) {
  const std::uint64_t written = word >> 8;
  switch (word & 0xff) {
    case 0x0: return MachineZone{ZoneCondition::kNotWritePointer, written};
    case 0x1: return MachineZone{ZoneCondition::kEmpty, written};
    case 0x2: return MachineZone{ZoneCondition::kImplicitlyOpen, written};
    case 0x3: return MachineZone{ZoneCondition::kExplicitlyOpen, written};
    case 0x4: return MachineZone{ZoneCondition::kClosed, written};
    case 0x12: return MachineZone{ZoneCondition::kImplicitlyOpen, written, true};
    case 0x13: return MachineZone{ZoneCondition::kExplicitlyOpen, written, true};
    case 0x14: return MachineZone{ZoneCondition::kClosed, written, true};
    case 0xd: return MachineZone{ZoneCondition::kReadOnly, written};
    case 0xe: return MachineZone{ZoneCondition::kFull, written};
    case 0xf: return MachineZone{ZoneCondition::kOffline, written};
    default: return std::nullopt;
  }
}

static_assert(PackZone({ZoneCondition::kEmpty, 0}) == 0x1);
static_assert(PackZone({ZoneCondition::kClosed, 3}) == 0x304);
static_assert(UnpackZone(0x1230e) == MachineZone{ZoneCondition::kFull, 0x123});
static_assert(PackZone({ZoneCondition::kClosed, 4, true}) == 0x414);
static_assert(UnpackZone(0x413) == MachineZone{ZoneCondition::kExplicitlyOpen, 4, true});
static_assert(!UnpackZone(0x5));
static_assert(!UnpackZone(0x1e));

// The offsets and sizes of the parts of a file.
struct EmulatedLayout {
  std::uint64_t table_offset = 0;  // one 64-bit zone word per zone
  std::uint64_t table_bytes = 0;   // a multiple of 4096
  // With a volatile cache: a second table of the same size, with the number of durable blocks of
  // each zone. 0: none.
  std::uint64_t durable_offset = 0;
  // With random write areas and a volatile cache: a third table of the same size, with the durable blocks of each area.
  // 0: none.
  std::uint64_t area_offset = 0;
  std::uint64_t data_offset = 0;  // zone n begins at data_offset + n * zone_size
  std::uint64_t file_bytes = 0;
};
// A word of that table has room for so many blocks.
[[nodiscard]] Status CheckCachedArea(const EmulatorGeometry& geometry, bool volatile_cache);
[[nodiscard]] EmulatedLayout LayoutOf(const EmulatorGeometry& geometry, bool volatile_cache);

struct OpenedEmulatedFile {
  UniqueFd fd;
  EmulatedFileInfo info;
  EmulatedLayout layout;
};

// Opens, locks (kExclusive) and checks all but the zone words. Errors: those of OpenEmulatedFile.
[[nodiscard]] Result<OpenedEmulatedFile> OpenAndCheckEmulatedFile(const std::string& path, OpenMode mode);
// The same for a file that is open already.
[[nodiscard]] Result<OpenedEmulatedFile> CheckEmulatedFile(UniqueFd fd, const std::string& path,
                                                           OpenMode mode);

// Takes the exclusive lock, which lasts as long as the open file. kBusy names the holder. Anybody
// who may read the file can hold this lock: no lock of Linux needs more (a read lock of fcntl(2)
// also blocks a write lock).
[[nodiscard]] Status LockEmulatedFile(const UniqueFd& fd, const std::string& path);

// Gives the device in the open file a new UUID, which every copy of a device needs. `info`
// describes that file.
[[nodiscard]] Status RenewDeviceUuid(const UniqueFd& fd, const EmulatedFileInfo& info,
                                     const std::string& path);

// Sets the permissions of the file, whatever the umask.
[[nodiscard]] Status SetFileMode(const UniqueFd& fd, mode_t mode, const std::string& path);

// Writes all bytes, or returns the errno in an Error with the matching code.
[[nodiscard]] Status WriteAll(const UniqueFd& fd, std::uint64_t offset, ByteView bytes,
                              const std::string& path);

// kNoSpace if the host's file system that holds the open file has less than `needed` free bytes. `what` needs them.
[[nodiscard]] Status CheckHostSpace(const UniqueFd& fd, std::uint64_t needed, const std::string& what,
                                    const std::string& path);

}  // namespace zenfs
