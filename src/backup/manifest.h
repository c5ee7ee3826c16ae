// The record of a backup, `zenfs_backup.jsonl`: the copied files, with checksums, those that the host
// can't take, and whether all others were copied. docs/formats/backup.md describes the fields.
//
// Invariant: the line of a file is written after the file has its name and its bytes were read
// back. The end line is written after everything else is on stable media. A manifest is therefore
// right about a file unless the file was changed afterwards, and a backup without an end line is
// partial.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "backup/path_tree.h"
#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kManifestFile = "zenfs_backup.jsonl";
inline constexpr int kManifestVersion = 2;                                  // 1 if nothing is missing
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;  // of six million files or more

struct ManifestHeader {
  Uuid backup;       // of this directory: the same in all its runs
  Uuid volume;       // the source of the files
  std::string path;  // the path that was backed up, normalised; "" is all
  std::uint64_t started_seconds = 0;

  bool SameSource(const ManifestHeader& other) const { return volume == other.volume && path == other.path; }
};

struct ManifestFile {
  std::uint64_t id = 0;  // id in the source volume
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  std::uint32_t crc32c = 0;
  Lifetime lifetime = Lifetime::kNotSet;
  // Set if the volume had no checksum of the whole file; also 0 in lines of an earlier version.
  std::uint64_t layout = 0;          // ContentMark::layout before it was read
  std::uint64_t copied_seconds = 0;  // before it was read, since 1970

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

// The nodes are of a tree of paths below the backup's directory, which may have more names.
struct Manifest {
  ManifestHeader header;
  std::set<PathNode> directories;
  std::map<PathNode, ManifestFile> files;   // the last line of a path counts
  std::map<PathNode, std::string> missing;  // files and directories that the host can't take, with the reason
  bool complete = false;

  std::uint64_t bytes() const;
};

// Takes any bytes, and adds the names to `paths`, at most one for each line. Ignores a last line without a line end, as a crash
// leaves it. Errors: kCorruption, naming the line, also if the line is too long for LineReader, if there is no line before it for
// the directory that it is in, or if the counts in the end line are wrong; kNotSupported for a later version.
[[nodiscard]] Result<Manifest> ParseManifest(std::string_view text, PathTree& paths);

// Takes the next piece of a text.
using TextSink = std::function<Status(std::string_view)>;
// Passes the lines of a manifest to `sink`.
[[nodiscard]] Status WriteManifest(const Manifest& manifest, const PathTree& paths, const TextSink& sink);
[[nodiscard]] std::string ManifestText(const Manifest& manifest, const PathTree& paths);
[[nodiscard]] std::string ManifestLine(const std::string& path, const ManifestFile& file);

// Reads the manifest in `directory` into memory that is linear in its names. Errors: kNotFound if there
// is none; kInvalidArgument if it is not a regular file (a link, a pipe); kCorruption if it is
// larger than kMaxManifestBytes; otherwise those of ParseManifest.
[[nodiscard]] Result<Manifest> ReadManifest(const HostDirectory& directory, PathTree& paths);

}  // namespace zenfs
