// The superblock identifies a volume; without a valid one, nothing on the device is used. A copy is
// in the first 4096 bytes of every metadata zone in use. docs/formats/superblock.md has the layout.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::size_t kSuperblockBytes = 4096;
// "ZENFS3SB" as bytes. No CRC covers it.
inline constexpr std::uint64_t kSuperblockMagic = 0x42533353464e455a;
inline constexpr std::uint32_t kFormatVersion = 3;
inline constexpr std::size_t kMaxLabelBytes = 63;
inline constexpr std::size_t kMaxMadeByBytes = 63;
inline constexpr std::size_t kMaxAuxPathBytes = 1023;
inline constexpr std::size_t kMaxMetadataZones = 64;
inline constexpr std::size_t kMaxPeerBytes = 511;

// Feature bits, as in ext4 and XFS: an unknown compatible bit is ignored, an unknown
// read-only-compatible bit forbids writing, an unknown incompatible bit forbids mounting.
// The volume was one of the older ZenFS (upgrade/upgrade.h). While superblocks of that are there, they may count instead of this
// one (metalog/older_log.h).
inline constexpr std::uint64_t kWasOlder = 1;
inline constexpr std::uint64_t kKnownCompatible = kWasOlder;
inline constexpr std::uint64_t kKnownReadOnlyCompatible = 0;
// The volume's log zones are on a second device (log_zones, peer).
inline constexpr std::uint64_t kHasLogDevice = 1;
// This device has nothing but these log zones. Its metadata_zones are those with a copy of this superblock.
inline constexpr std::uint64_t kIsLogDevice = 2;
// The metadata log is written to two zones at a time. Bit 2 is not used here.
inline constexpr std::uint64_t kTwoMetadataCopies = 8;
// Log headers may name more metadata zones than the superblock does.
inline constexpr std::uint64_t kMoreMetadataZones = 16;
inline constexpr std::uint64_t kKnownIncompatible =
    kHasLogDevice | kIsLogDevice | kTwoMetadataCopies | kMoreMetadataZones;

struct Superblock {
  // kFormatVersion, or 1 or 2: a volume of the older ZenFS (format/older_format.h), which is only read. EncodeSuperblock and
  // DecodeSuperblock know kFormatVersion only.
  std::uint32_t version = kFormatVersion;
  Uuid uuid;  // identifies this volume; a clone gets another one
  // The seed of the CRCs of all frames, in place of the uuid. It equals the uuid at mkfs and never
  // changes, so that the frames of a clone need not be rewritten (as XFS has sb_meta_uuid beside
  // sb_uuid).
  Uuid seed;
  std::string label;                  // at most kMaxLabelBytes
  std::uint64_t created_seconds = 0;  // since 1970
  std::uint32_t block_size = 0;       // geometry at mkfs
  std::uint64_t zone_size = 0;
  std::uint32_t zone_count = 0;
  std::uint64_t compatible = 0;  // of the older ZenFS: its flags
  std::uint64_t read_only_compatible = 0;
  std::uint64_t incompatible = 0;
  std::uint32_t finish_threshold_percent = 0;  // not used; kept for the older ZenFS's users
  std::vector<ZoneId> metadata_zones;          // ascending, at most kMaxMetadataZones
  std::string made_by;                         // version text of the program that made it; at most
                                               // kMaxMadeByBytes
  std::string aux_path;  // directory of the host for LOG and LOCK, absolute, at most kMaxAuxPathBytes;
                         // empty: they are in the volume
  // Random, from mkfs; nil in superblocks of older versions and of clones. The marker in the aux directory has it too
  // (volume/aux_directory/aux_directory.h), and nobody else who can't read the device.
  Uuid aux_secret;
  // With kHasLogDevice, zone_size and zone_count are those of the joined device (device/joined_device.h): its last
  // log_zones zones are those of the second device from first_log_zone on. With kIsLogDevice, the geometry is that of the
  // device itself, and both numbers are the same as in the other superblock. Otherwise both are 0.
  std::uint32_t log_zones = 0;
  ZoneId first_log_zone;
  // The URI of the other device at mkfs; at most kMaxPeerBytes. The uuid proves that a device is the right one.
  std::string peer;

  bool is_older() const { return version < kFormatVersion; }
  bool was_older() const { return !is_older() && (compatible & kWasOlder) != 0; }
  bool has_log_device() const { return (incompatible & kHasLogDevice) != 0; }
  bool is_log_device() const { return (incompatible & kIsLogDevice) != 0; }
  bool may_add_metadata_zones() const { return (incompatible & kMoreMetadataZones) != 0; }
  bool has_two_metadata_copies() const { return (incompatible & kTwoMetadataCopies) != 0; }

  friend bool operator==(const Superblock&, const Superblock&) = default;
};

// Checks before writing that DecodeSuperblock would accept the superblock. Errors:
// kInvalidArgument, naming the field and its value.
[[nodiscard]] Status CheckSuperblock(const Superblock& superblock);

// Returns the kSuperblockBytes for the medium. Cuts texts that are too long; CheckSuperblock
// refuses them.
[[nodiscard]] std::string EncodeSuperblock(const Superblock& superblock);

// Takes any bytes. Errors: kNotFound if they are not a superblock; kNotSupported for the formats 1
// and 2 of the older ZenFS, for a newer version, and for unknown incompatible feature bits (named
// in the text); kCorruption for a damaged one.
[[nodiscard]] Result<Superblock> DecodeSuperblock(ByteView bytes);

// Turns the superblock in `bytes` into that of a clone: another uuid, and no aux_path and aux_secret, because
// two volumes can't share a directory. Everything else stays, also fields that only a newer program knows.
// Errors: those of DecodeSuperblock, with `bytes` unchanged.
[[nodiscard]] Status MakeClone(ByteSpan bytes, const Uuid& uuid);

// Checks whether this program may write to the volume. Errors: kReadOnly, naming the unknown
// read-only-compatible feature bits.
[[nodiscard]] Status CheckWritable(const Superblock& superblock);

// Corrects one flipped bit in a superblock; the CRC locates it. Two flips in 4096 bytes are never
// mistaken for one, because CRC-32C has a Hamming distance of at least 4 at this length. But three
// or more flips may be corrected to a wrong superblock, so callers need further proof.
// Returns nothing if `bytes` are not a superblock, are valid, or have more than one wrong bit.
[[nodiscard]] std::optional<Superblock> CorrectSuperblock(ByteView bytes);

}  // namespace zenfs
