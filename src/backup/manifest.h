// What the directory of a backup says about its files: the manifest, and the lifetimes in the format of the older ZenFS.
//
// The manifest, `zenfs_backup.jsonl`, is the record of a backup: the copied files, with checksums, those that the host
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
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backup/path_tree.h"
#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/lifetime.h"

namespace zenfs {

inline constexpr std::string_view kManifestFile = "zenfs_backup.jsonl";
inline constexpr std::string_view kHintsFile = "write_lifetime_hints.dat";
inline constexpr std::string_view kBackupStaging = ".zenfs_backup";  // a directory of unfinished files

// Whether a name in a backup's directory is one of these three, so that no file of a volume can have it there.
[[nodiscard]] constexpr bool IsBackupsOwn(std::string_view name) {
  return name == kManifestFile || name == kHintsFile || name == kBackupStaging;
}

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

// `write_lifetime_hints.dat`: the lifetimes of a backup's files, as the older ZenFS stores them.
// One line per file: its path in the volume, a tab, the hint as RocksDB's number
// (model/lifetime.h).
//
// LifetimeHintLine returns nothing for a path with a line end, which such a line can't represent.
[[nodiscard]] std::string LifetimeHintLine(std::string_view path, Lifetime lifetime);

// The hints for the files of a restore. Keeps only those that one of them needs, so their number bounds the memory.
class LifetimeHints {
 public:
  // For the files `files` of `paths`, which are restored below the directory `into` of the volume (normalised). `paths` must outlive
  // the object.
  LifetimeHints(const PathTree& paths, const std::vector<PathNode>& files, std::string into);

  // `line` is without its line feed. Ignores it if it has no tab, or a number that is not a lifetime.
  void TakeLine(std::string_view line);

  // The hint of the file's path in the volume, or else of its path below the backup's directory. Otherwise that of the files with
  // the same last component, if they all have the same.
  std::optional<Lifetime> Find(PathNode file) const;

 private:
  struct OfName {
    bool known = false;
    std::optional<Lifetime> hint;  // nothing: the files of this name have different ones
  };

  void Add(std::string_view path, Lifetime lifetime);

  const PathTree& paths_;
  const std::string into_;
  std::map<PathNode, Lifetime> by_volume_path_;
  std::map<PathNode, Lifetime> by_path_;        // below the backup's directory
  std::map<std::string_view, OfName> by_name_;  // the last components of all files
};

}  // namespace zenfs
