// A backup directory with any contents: links, pipes, devices, any names, and a manifest that
// matches them or not. The target backs a volume up into it and restores from it.
//
//    u8 mode, u8 more mode, u8 manifest, u8 n, n bytes of the manifest, entries (backup_tree.h)
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <optional>

#include "backup/backup.h"
#include "backup/backup_destination.h"
#include "backup/manifest.h"
#include "backup/path_tree_rig.h"
#include "backup/restore.h"
#include "backup_tree.h"
#include "base/crc32c.h"
#include "image_device.h"
#include "scratch_path.h"
#include "simulated.h"
#include "testing/borrowed_device.h"
#include "volume/mkfs.h"
#include "volume_look.h"

namespace zenfs {
namespace {

enum DirectoryMode : std::uint8_t {
  kEmptyAtFirst = 1,  // otherwise it holds a backup
  kForce = 2,
  kPartial = 4,
  kVerify = 8,
  kRestoreFirst = 16,
  kOneStep = 32,
  kBelow = 64,    // restore into a directory of the volume
  kOneFile = 128  // restore only the path of one entry
};
enum MoreMode : std::uint8_t { kWalks = 1, kOtherShape = 2 };

// A manifest line for each of these names, or for none.
std::vector<std::string> TreeNames() {
  return {"db/000001.sst",
          "db/sub/000002.log",
          "CURRENT",
          std::string(kManifestFile),
          std::string(kHintsFile),
          std::string(kBackupStaging) + "/0",
          std::string(kBackupStaging) + "/manifest"};
}
constexpr std::size_t kFilesOfVolume = 3;  // the first of TreeNames

struct SilentObserver : TransferObserver {
  void OnPath(const std::string&) override {}
  void OnNotice(const std::string&) override {}
  void OnProgress(std::uint64_t done, std::uint64_t of) override {
    Require(done <= of, "no more is done than there is");
  }
};

std::string ReadVolume(const FileHandle& file) {
  std::string text(std::min<std::uint64_t>(file.size(), 16 << 10), '\0');
  const auto n = file.Read(0, std::as_writable_bytes(std::span(text)));
  text.resize(n ? *n : 0);
  return text;
}

class DirectoryRun {
 public:
  DirectoryRun(BackupTree& tree, std::uint8_t mode) : tree_(tree), mode_(mode) {}

  void Run(Volume& volume) {
    for (int step = 0; step < (Has(kOneStep) ? 1 : 2); ++step) {
      if (Has(kRestoreFirst) == (step == 0)) {
        Restore(volume);
      } else {
        Backup(volume);
      }
      tree_.RequireOutsideIsUntouched();
    }
  }

 private:
  bool Has(DirectoryMode flag) const { return (mode_ & flag) != 0; }

  void Backup(Volume& volume) {
    SilentObserver observer;
    const auto done = RunBackup(
        volume,
        {.destination = tree_.path(), .path = "", .force = Has(kForce), .verify = Has(kVerify), .jobs = 2},
        observer);
    if (Tells()) std::fprintf(stderr, "backup: %s\n", done ? "done" : done.error().ToString().c_str());
    if (!done) return;
    const auto directory = HostDirectory::Open(tree_.path());
    Require(directory.has_value(), "a backup is there");
    PathTree paths;
    const auto manifest = ReadManifest(*directory, paths);
    Require(manifest && manifest->complete, "a backup that succeeded is complete");
    for (const auto& [node, file] : manifest->files) {
      const std::string path = paths.PathOf(node);
      Require(tree_.IsFile(path), "a backup consists of files: " + path);
      const auto source = volume.OpenForRead(path);
      Require(source.has_value(), "what is in a backup is in the volume: " + path);
      if (!Has(kVerify)) continue;
      std::string text;
      Require(tree_.Read(path, text), "a file of a backup can be read: " + path);
      Require(file.size != text.size() || text == ReadVolume(**source),
              "a backup that is verified is what the volume holds: " + path);
    }
  }

  void Restore(Volume& volume) {
    SilentObserver observer;
    RestoreOptions options{.source = tree_.path(), .force = Has(kForce), .partial = Has(kPartial), .jobs = 2};
    if (Has(kBelow)) options.restore_path = "below/it";
    if (Has(kOneFile)) options.source += "/db/000001.sst";
    const auto done = RunRestore(volume, options, observer);
    if (Tells()) std::fprintf(stderr, "restore: %s\n", done ? "done" : done.error().ToString().c_str());
    if (Has(kOneFile)) return;  // the user chose the path: a link there is followed
    const std::string below = Has(kBelow) ? options.restore_path + "/" : "";
    for (std::size_t i = 0; i < kFilesOfVolume; ++i) {
      const std::string name = TreeNames()[i];
      const auto file = volume.OpenForRead(below + name);
      if (!file) continue;  // the manifest may omit it
      const std::string restored = ReadVolume(**file);
      Require(restored != BackupTree::OutsideText(name) || tree_.IsFile(name),
              "nothing from outside is restored: " + name);
      if (!done || !Has(kBelow) || Has(kPartial)) continue;
      std::string text;
      Require(tree_.Read(name, text) && restored == text, "what was restored is what the file says: " + name);
    }
  }

  BackupTree& tree_;
  const std::uint8_t mode_;
};

// The contents of each input's directory that begins with a backup.
struct RealBackup {
  std::map<std::string, std::string> files;
  Manifest manifest;
  PathTree paths;  // with TreeNames
};

// A volume with a file of each shape in a directory of its own, and a short file at the top. More
// files would need more time and lead to nothing new.
ImageDevice::Image MakeImage(ImageDevice& device) {
  RunSimulated([&] {
    const Uuid uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
    const auto formatted = FormatVolume(device, {.label = "fuzz", .uuid = uuid, .metadata_zones = 3});
    Require(formatted.has_value(), "the device can be formatted");
    auto volume = Volume::Mount(Borrow(device), ImageMountOptions());
    Require(volume && (*volume)->MakeDirectory("db/sub", true).ok(), "a new volume can be used");
    for (std::size_t i = 0; i < kFilesOfVolume; ++i) {
      const auto file = (*volume)->Create(TreeNames()[i]);
      const std::string text(10 + 600 * (2 - i), static_cast<char>('a' + i));
      Require(file && (*file)->Append(AsBytes(text)).ok() && (*file)->Close().ok(), "a file can be written");
    }
    Require((*volume)->Unmount().ok(), "it unmounts");
  });
  return device.Save();
}

void WithVolume(ImageDevice& device, const std::function<void(Volume&)>& body) {
  static const ImageDevice::Image image = MakeImage(device);
  device.Load(image);
  RunSimulated([&] {
    auto volume = Volume::Mount(Borrow(device), ImageMountOptions());
    Require(volume.has_value(), "a sound volume mounts");
    body(**volume);
    const Status unmounted = (*volume)->Unmount();
    Require(unmounted.ok(), "it unmounts");
  });
}

RealBackup MakeRealBackup(BackupTree& tree, ImageDevice& device) {
  RealBackup real;
  WithVolume(device, [&](Volume& volume) {
    SilentObserver observer;
    const auto made = RunBackup(volume, {.destination = tree.path(), .path = ""}, observer);
    Require(made.has_value(), "a backup can be made: " + (made ? "" : made.error().ToString()));
    const auto manifest = ReadManifest(*HostDirectory::Open(tree.path()), real.paths);
    real.manifest = *manifest;
  });
  for (const std::string& name : TreeNames()) AddPath(real.paths, name);
  for (const std::string name : {"CURRENT/below", "new/deep"}) AddPath(real.paths, name);
  for (const std::string& name : TreeNames()) {
    if (std::string text; tree.Read(name, text)) real.files[name] = text;
  }
  return real;
}

// Writes a manifest that describes the tree correctly or incorrectly.
void PutManifest(BackupTree& tree, const RealBackup& real, std::uint8_t how, ByteView bytes) {
  const std::string name(kManifestFile);
  Manifest manifest = real.manifest;
  const auto node_of = [&](std::string_view path) { return *real.paths.Find(path); };
  switch (how % 8) {
    case 0: return;
    case 1: tree.Put(name, AsText(bytes)); return;
    case 2: manifest.complete = false; break;
    case 3: {  // with sizes and checksums of the existing files
      manifest.files.clear();
      for (const std::string& path : TreeNames()) {
        std::string text;
        if (tree.Read(path, text))
          manifest.files[node_of(path)] = {.id = 9, .size = text.size(), .crc32c = Crc32c(AsBytes(text))};
      }
      break;
    }
    case 4:  // with names that are not allowed
      manifest.directories.insert(node_of(kBackupStaging));
      for (const std::string& path : TreeNames()) manifest.files[node_of(path)] = {.id = 9, .size = 8};
      break;
    case 5:  // of the files outside
      for (auto& [node, file] : manifest.files) {
        const std::string outside = BackupTree::OutsideText(real.paths.PathOf(node));
        file.size = outside.size();
        file.crc32c = Crc32c(AsBytes(outside));
      }
      break;
    case 6:
      for (auto& [node, file] : manifest.files) file.size += 1;
      break;
    default:
      for (const std::string_view path :
           {std::string_view("CURRENT"), std::string_view("CURRENT/below"), std::string_view("new"),
            std::string_view("new/deep"), kBackupStaging})
        manifest.directories.insert(node_of(path));
  }
  std::string text = ManifestText(manifest, real.paths);
  // Inserts other bytes somewhere in it.
  if (!bytes.empty() && how >= 128) text.insert(how * 7 % text.size(), AsText(bytes));
  tree.Put(name, text);
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  constexpr std::size_t kEntriesMax = 12;
  static ImageDevice device(
      EmulatorGeometry{.zones = 9, .zone_size = 64 << 10, .max_open = 0, .max_active = 0, .block_size = 512});
  static const ScratchPath scratch;
  static const int made = ::mkdir(scratch.path().c_str(), 0700);
  Require(made == 0, "a directory on a tmpfs can be made");
  static BackupTree empty(scratch.path() + "/empty", TreeNames(), {});
  static const RealBackup real = MakeRealBackup(empty, device);
  static BackupTree full(scratch.path() + "/full", TreeNames(), real.files);
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const auto mode = input.Take<std::uint8_t>();
  const auto more = input.Take<std::uint8_t>();
  const auto how = input.Take<std::uint8_t>();
  const ByteView manifest = input.Bytes(input.Take<std::uint8_t>());
  BackupTree& tree = (mode & kEmptyAtFirst) != 0 ? empty : full;
  tree.Reset();
  PutManifest(tree, real, how, manifest);
  for (std::size_t i = 0; i < kEntriesMax && !input.AtEnd(); ++i) tree.Carry(input);
  std::optional<HostDirectory::WithoutOpenat2ForTests> walks;
  if ((more & kWalks) != 0) walks.emplace();
  WithVolume(device, [&](Volume& volume) { DirectoryRun(tree, mode).Run(volume); });
  return 0;
}
