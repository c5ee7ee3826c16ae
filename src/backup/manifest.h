// The record that a backup keeps of itself, `zenfs_backup.jsonl`: what was copied, with checksums, and whether
// all of it was. docs/formats/backup.md has the fields.
//
// Invariant: a file's line is written after the file has its name and its bytes were read back, and the end line
// after everything else is on stable media. So what a manifest says of a file is true unless the file was
// changed afterwards, and a backup without an end line is a partial one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kManifestFile = "zenfs_backup.jsonl";
inline constexpr int kManifestVersion = 1;
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;  // some ten million files

struct ManifestHeader {
  Uuid backup;       // of this directory: the same through all its resumed runs
  Uuid volume;       // where the files are from
  std::string path;  // what of it was backed up, normalised; "" is all
  std::uint64_t started_seconds = 0;

  bool SameSource(const ManifestHeader& other) const { return volume == other.volume && path == other.path; }
};

struct ManifestFile {
  std::uint64_t id = 0;  // in the volume it is from
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  std::uint32_t crc32c = 0;
  Lifetime lifetime = Lifetime::kNotSet;
  // Set if the volume had no checksum of all of it; 0 also in lines that an earlier version wrote.
  std::uint64_t layout = 0;          // ContentMark::layout before it was read
  std::uint64_t copied_seconds = 0;  // since 1970, before that

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  ManifestHeader header;
  std::set<std::string> directories;          // paths below the backup's directory
  std::map<std::string, ManifestFile> files;  // by path; the last line of a path counts
  bool complete = false;

  std::uint64_t bytes() const;
};

// Takes any bytes. A last line that was torn (no line end) is passed over, as what a crash leaves.
// Errors: kCorruption naming the line, also when it is longer than LineReader takes or the end line counts other than what
// is there; kNotSupported for a later version.
[[nodiscard]] Result<Manifest> ParseManifest(std::string_view text);
[[nodiscard]] std::string ManifestText(const Manifest& manifest);
[[nodiscard]] std::string ManifestLine(const std::string& path, const ManifestFile& file);
[[nodiscard]] std::string ManifestEndLine(const Manifest& manifest);

// Reads the manifest in `directory`, with memory for what its lines say. Errors: kNotFound if there is none;
// kInvalidArgument if it is a link, a pipe or anything else than a regular file; kCorruption if it is larger than
// kMaxManifestBytes; else those of ParseManifest.
[[nodiscard]] Result<Manifest> ReadManifest(const HostDirectory& directory);

}  // namespace zenfs
