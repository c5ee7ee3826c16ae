// Manifests of backups, and the records of interrupted restores.
#include "backup/manifest.h"
#include "backup/path_text.h"
#include "backup/restore_record.h"
#include "base/host_directory.h"
#include "input.h"

namespace zenfs {
namespace {

bool Same(const Manifest& a, const Manifest& b) {
  return a.header.backup == b.header.backup && a.header.SameSource(b.header) &&
         a.header.started_seconds == b.header.started_seconds && a.directories == b.directories &&
         a.files == b.files && a.complete == b.complete;
}

void CheckManifest(const Manifest& manifest) {
  const std::string text = ManifestText(manifest);
  const auto again = ParseManifest(text);
  Require(again && Same(*again, manifest), "a manifest survives being written");
  Require(ManifestText(*again) == text, "the same manifest is the same bytes");
  for (const auto& [path, file] : manifest.files) Require(IsInnerPath(path), "no file is outside the backup");
  for (const auto& [path, file] : manifest.files)
    Require(CheckPathLimits(path).ok(), "a volume takes each file");
  for (const std::string& path : manifest.directories) {
    Require(IsInnerPath(path), "no directory is outside the backup");
    Require(CheckPathLimits(path).ok(), "a volume takes each directory");
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
  if (const auto manifest = ParseManifest(text)) CheckManifest(*manifest);
  const std::string_view first_line = text.substr(0, text.find('\n'));
  static_cast<void>(ParseRestoreRecord(text, first_line));
  CheckPath(first_line);
  return 0;
}
