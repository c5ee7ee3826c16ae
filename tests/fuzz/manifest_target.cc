// Manifests of backups, and the records of interrupted restores.
#include "backup/manifest.h"
#include "backup/path_tree.h"
#include "backup/record_text.h"
#include "backup/restore_record.h"
#include "base/host_directory.h"
#include "input.h"

namespace zenfs {
namespace {

void CheckManifest(const Manifest& manifest, const PathTree& paths) {
  const std::string text = ManifestText(manifest, paths);
  PathTree paths_again;
  const auto again = ParseManifest(text, paths_again);
  Require(again.has_value(), "a manifest that was written can be read");
  Require(ManifestText(*again, paths_again) == text, "it survives being written and is the same bytes");
  const auto is_allowed = [&](PathNode node) {
    const std::string path = paths.PathOf(node);
    return IsInnerPath(path) && CheckPathLimits(path).ok();
  };
  for (const auto& [node, file] : manifest.files) {
    Require(is_allowed(node), "no file is outside the backup, and a volume takes each");
  }
  for (const PathNode node : manifest.directories) {
    Require(is_allowed(node), "no directory is outside the backup, and a volume takes each");
  }
}

void CheckPath(std::string_view text) {
  Require(DecodePathText(EncodePathText(text)) == text, "a path survives being written");
  static_cast<void>(DecodePathText(text));
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PathTree paths;
  if (const auto manifest = ParseManifest(text, paths)) CheckManifest(*manifest, paths);
  const std::string_view first_line = text.substr(0, text.find('\n'));
  static_cast<void>(ParseRestoreRecord(text, first_line));
  CheckPath(first_line);
  return 0;
}
