#include "volume_workout.h"

#include <fmt/format.h>

#include "image_mutation.h"
#include "input.h"

namespace zenfs {
namespace {

// True if everything succeeded.
bool Write(Volume& volume) {
  const auto put = [&](const std::string& path, std::string_view text) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto file, volume.Create(path));
    ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(text)));
    ZENFS_RETURN_IF_ERROR(file->Sync());
    ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(text)));
    return file->Close();
  };
  const Status plain = put("fuzz.tmp", "plain");
  const Status framed = put("fuzz.log", "framed");
  const Status renamed = volume.Rename("fuzz.tmp", "fuzz.sst");
  return plain.ok() && framed.ok() && renamed.ok();
}

// The tree of Mutation::kDeep can be removed at any depth.
void RemoveDeepTree(Volume& volume) {
  if (volume.RemoveTree(kDeepTree).ok()) {
    Require(!volume.Stat(kDeepTree).has_value(), "a tree that was removed is gone");
  }
}
bool IsInDeepTree(const std::string& path) { return path.starts_with(fmt::format("/{}/", kDeepTree)); }

}  // namespace

void VolumeWorkout::Run(std::uint8_t mode) {
  const std::uint64_t changes = device_.changes();
  clean_ = Damage().empty();
  if ((mode & kSkipReader) == 0) Read();
  Require(device_.changes() == changes, "who only looks changes nothing");
  if ((mode & kSkipWriter) != 0 || !Change()) return;
  if (clean_) {
    const std::string damage = Damage();
    Require(damage.empty(), "a clean volume stays clean: " + damage);
  }
  if (written_) CheckWritten();
}

std::string VolumeWorkout::Damage() { return FirstDamage(device_, /*read_data=*/true); }

void VolumeWorkout::Read() {
  auto volume = MountImage(device_, OpenMode::kReadOnly);
  if (!volume) return;
  before_ = Look(**volume);
  static_cast<void>((*volume)->Unmount().ok());
}

bool VolumeWorkout::Change() {
  const std::uint64_t changes = device_.changes();
  auto volume = MountImage(device_, OpenMode::kExclusive);
  if (!volume) return device_.changes() != changes;
  const VolumeContents now = Look(**volume);
  if (clean_ && before_) Require(now == *before_, "a clean volume is mounted as it was read");
  written_ = Write(**volume);
  RemoveDeepTree(**volume);
  const Status unmounted = (*volume)->Unmount();
  written_ = written_ && unmounted.ok();
  return true;
}

void VolumeWorkout::CheckWritten() {
  auto volume = MountImage(device_, OpenMode::kReadOnly);
  Require(volume.has_value(),
          "a volume that was written is there: " + (volume ? std::string() : volume.error().ToString()));
  VolumeContents now = Look(**volume);
  Require(now["/fuzz.sst"] == "10:plainplain" && now["/fuzz.log"] == "12:framedframed",
          "what was written is there");
  static_cast<void>((*volume)->Unmount().ok());
  if (!clean_ || !before_) return;
  for (const auto& [path, text] : *before_) {
    const bool ours = path == "/fuzz.sst" || path == "/fuzz.log" || path == "/fuzz.tmp";
    Require(ours || IsInDeepTree(path) || now[path] == text, "what was there is there still: " + path);
  }
}

}  // namespace zenfs
