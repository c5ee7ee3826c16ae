#include <fmt/format.h>

#include <vector>

#include "backends/emulator/emulated_clone.h"
#include "base/short_bytes.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

// Returns the superblock of the file system on the device, or the reason why it can't get another
// UUID.
Result<Superblock> SuperblockOf(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenEmulatedFile(path, OpenMode::kReadOnly));
  return ProbeSuperblock(*device);
}

// A clone of one of two devices would be a second owner of the other one.
Status RefuseOneOfTwo(const std::string& path) {
  const auto device = OpenEmulatedFile(path, OpenMode::kReadOnly);
  if (!device) return {};
  const Result<Superblock> found = FindSuperblock(**device);
  if (!found || (!found->has_log_device() && !found->is_log_device())) return {};
  return Fail(Code::kNotSupported,
              fmt::format("{}: its volume has a second device, {}, and a clone of one is none of the volume; "
                          "use zenfs backup",
                          path, found->peer));
}

// True if the process of the last mount died. Its flushed and unsynced bytes are in shared memory
// of this host, and belong only to the original.
bool WasLeftMounted(const std::string& path, const Superblock& superblock) {
  const auto device = OpenEmulatedFile(path, OpenMode::kReadOnly);
  if (!device) return false;
  const auto log = Metalog::Open(**device, superblock);
  return log && !(*log)->recovered().buffer_place().empty();
}

// Every metadata zone in use begins with a copy of the superblock.
Status GiveUuid(const std::string& original, EmulatedClone& clone, const Superblock& superblock,
                const Uuid& uuid) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenEmulatedFile(original, OpenMode::kReadOnly));
  std::vector<std::byte> bytes(kSuperblockBytes);
  for (const ZoneId zone : MetadataZones(*device, superblock)) {
    ZENFS_RETURN_IF_ERROR(clone.ReadStart(zone, bytes));
    const auto found = DecodeSuperblock(bytes);
    // The zone is not in use, or a crash cut the copy short; it stays invalid.
    if (!found || found->uuid != superblock.uuid) continue;
    ZENFS_RETURN_IF_ERROR(MakeClone(bytes, uuid));
    ZENFS_RETURN_IF_ERROR(clone.ReplaceStart(zone, bytes));
  }
  return {};
}

class EmuCloneAction : public Action {
 public:
  explicit EmuCloneAction(CLI::App& app) {
    app.add_option("source", from_, "The file of the device to copy")->required()->type_name("SRC");
    app.add_option("target", to_, "The file to make")->required()->type_name("DST");
    AddFileMode(app, mode_, "600");
    app.add_flag("--force", force_, "Replace an existing emulated device");
  }

  Result<int> Run(Console& console) override {
    ZENFS_RETURN_IF_ERROR(RefuseOneOfTwo(from_));
    const auto progress = [&](std::uint64_t done, std::uint64_t of) {
      console.Progress("copying", done, of);
    };
    auto clone = EmulatedClone::Begin(from_, to_, force_, progress, mode_.value_or(kEmulatedFileMode));
    console.EndProgress();
    if (!clone) {
      if (force_ || clone.error().code() != Code::kExists) return Fail(clone.error());
      return Fail(Code::kExists, clone.error().text() + " (--force replaces an emulated device)");
    }
    // The clone's lock keeps writers off the source.
    const Result<Superblock> superblock = SuperblockOf(from_);
    if (!superblock && superblock.error().code() == Code::kIo) return Fail(superblock.error());
    const Uuid uuid = Uuid::Generate();
    if (superblock) ZENFS_RETURN_IF_ERROR(GiveUuid(from_, **clone, *superblock, uuid));
    ZENFS_RETURN_IF_ERROR((*clone)->Finish());
    Report(console, superblock, uuid, (*clone)->copied_bytes());
    if (const Timing dropped = (*clone)->dropped_timing(); dropped != Timing::kNone) {
      console.Print(
          fmt::format("It does not have the times of {0} that the original asks for, because the original "
                      "belongs to another user; "
                      "?timing:{0} sets them.\n",
                      TimingName(dropped)));
    }
    if (superblock && WasLeftMounted(from_, *superblock)) {
      console.Print(
          "The original was not unmounted: data that was flushed and not synced is not in the clone. Mount "
          "the original once and clone it again to include it.\n");
    }
    return 0;
  }

 private:
  void Report(Console& console, const Result<Superblock>& superblock, const Uuid& uuid,
              std::uint64_t copied_bytes) const {
    console.Print(fmt::format("Cloned: {}, {} copied.\n", Printable(to_), ShortBytes(copied_bytes)));
    if (!superblock) {
      console.Print(
          fmt::format("It is a plain copy, without a new UUID: {}\n", Printable(superblock.error().text())));
      return;
    }
    console.Print(fmt::format("Its file system has the UUID {}.\n", uuid.ToString()));
    if (superblock->aux_path.empty()) return;
    console.Print(fmt::format("It has no aux directory: {} belongs to the original.\n",
                              Printable(superblock->aux_path)));
  }

  std::string from_;
  std::string to_;
  std::optional<mode_t> mode_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeEmuClone(CLI::App& app) { return MakeAction<EmuCloneAction>(app); }

}  // namespace zenfs
