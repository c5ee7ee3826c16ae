// Repair: changes a valid image as the target image does, scrubs it, repairs it if there is a plan,
// and then either uses the volume or undoes the repair from the metadata copy, which may have been
// changed meanwhile.
//
//    u8 shape, u8 age, u8 mode, u8 number of changes to the copy, for each: u16 at, u8 with; mutations
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "image_input.h"
#include "metadata_copy_head.h"
#include "repair/repair.h"
#include "scratch_path.h"
#include "simulated.h"
#include "testing/split_device.h"
#include "volume/fsck/scrub.h"
#include "volume_look.h"

namespace zenfs {
namespace {

enum Mode : std::uint8_t { kUndo = 1, kSkipScrub = 2, kFixHead = 4 };
constexpr std::size_t kChangesMax = 8;

struct Change {
  std::uint16_t at = 0;
  std::uint8_t with = 0;  // XORed with the byte
};

struct Wish {
  std::uint8_t mode = 0;
  std::vector<Change> changes;  // to the metadata copy
};

Wish TakeWish(FuzzInput& input) {
  Wish wish{.mode = input.Take<std::uint8_t>(), .changes = {}};
  for (std::size_t n = input.Take<std::uint8_t>() % (kChangesMax + 1); n > 0; --n) {
    const auto at = input.Take<std::uint16_t>();
    wish.changes.push_back({at, input.Take<std::uint8_t>()});
  }
  return wish;
}

// Corrects the checksum of the head, so that changes of the head reach the decoder.
void ChangeFile(const std::string& path, const Wish& wish) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  Require(fd >= 0, "the copy is there");
  for (const Change& change : wish.changes) {
    std::uint8_t byte = 0;
    if (::pread(fd, &byte, 1, change.at) != 1) continue;
    byte ^= change.with;
    Require(::pwrite(fd, &byte, 1, change.at) == 1, "the copy can be written");
  }
  std::array<std::byte, kMetadataCopyHeadBytes> head;
  if ((wish.mode & kFixHead) != 0 && ::pread(fd, head.data(), head.size(), 0) == std::ssize(head)) {
    FixCopyCrc(head);
    Require(::pwrite(fd, head.data(), head.size(), 0) == std::ssize(head), "the copy can be written");
  }
  ::close(fd);
}

class Workout {
 public:
  Workout(ImageDevice& device, const std::string& path)
      : device_(device), joined_(*BorrowJoined(device)), path_(path) {}

  void Run(const Wish& wish) {
    const bool clean = FirstDamage(device_, /*read_data=*/false).empty();
    if ((wish.mode & kSkipScrub) == 0) static_cast<void>(ScrubVolume(*joined_, {}).has_value());
    const auto plan = PlanRepair(*joined_);
    Require(device_.changes() == 0, "who only looks changes nothing");
    if (!plan || plan->nothing_to_do()) return;
    // After a crash in a log switch, a repair has steps although nothing is damaged.
    const std::optional<VolumeContents> sound = clean ? Read() : std::nullopt;
    const ImageDevice::Image before = device_.Save();
    ::unlink(path_.c_str());  // left by the previous input
    const Status done = CarryOut(*joined_, *plan, path_);
    // Losses stay, and the plan named them.
    const bool whole = plan->losses.empty();
    if (done.ok()) CheckRepaired(whole);
    if (done.ok() && sound) CheckKept(*sound, TakesLaterEpochs(*plan));
    if ((wish.mode & kUndo) != 0) return Undo(wish, plan->superblock, before);
    if (done.ok()) Use(whole);
  }

 private:
  std::optional<VolumeContents> Read() {
    auto volume = MountImage(device_, OpenMode::kReadOnly);
    if (!volume) return std::nullopt;
    VolumeContents contents = Look(**volume);
    static_cast<void>((*volume)->Unmount().ok());
    return contents;
  }

  void RequireClean(const std::string& what) {
    const std::string damage = FirstDamage(device_, /*read_data=*/false);
    Require(damage.empty(), what + ": " + damage);
  }

  void CheckRepaired(bool whole) {
    if (whole) RequireClean("what is repaired is clean");
    const auto again = PlanRepair(*joined_);
    Require(again.has_value(), "what is repaired can be planned for");
    if (!again->nothing_to_do()) Require(false, "what is repaired needs no repair: " + again->steps.front());
  }

  // True if the repair takes frames of an epoch whose first commit may be lost. The frames show
  // changes of that epoch to a log that the volume did not show before.
  static bool TakesLaterEpochs(const RepairPlan& plan) {
    return std::ranges::any_of(
        plan.steps, [](const std::string& step) { return step.starts_with("seal the logs up to epoch"); });
  }

  // /lost+found may contain additional files.
  void CheckKept(const VolumeContents& sound, bool logs_may_differ) {
    const std::optional<VolumeContents> now = Read();
    Require(now.has_value(), "what is repaired can be read");
    for (const auto& [path, text] : sound) {
      const auto it = now->find(path);
      const bool may_differ = logs_may_differ && path.ends_with(".log");
      Require(it != now->end() && (may_differ || it->second == text),
              "a repair leaves alone what is sound: " + path);
    }
  }

  void Use(bool whole) {
    auto volume = MountImage(device_, OpenMode::kExclusive);
    if (!volume) return RequireAllowedError(volume.error(), "what is repaired can be mounted");
    static_cast<void>(Look(**volume));
    static_cast<void>((*volume)->Unmount().ok());
    if (whole) RequireClean("what is repaired and used is clean");
  }

  // Zones may have become unwritable, or too few.
  void RequireAllowedError(const Error& error, const std::string& what) {
    const auto zones = device_.Report(ZoneId(0), device_.geometry().zone_count);
    const bool all_good =
        zones && std::ranges::none_of(*zones, [](const ZoneInfo& zone) {
          return zone.condition == ZoneCondition::kOffline || zone.condition == ZoneCondition::kReadOnly;
        });
    Require(!all_good || error.code() == Code::kNoSpace, what + ": " + error.ToString());
  }

  void Undo(const Wish& wish, const Superblock& superblock, const ImageDevice::Image& before) {
    if (!wish.changes.empty()) {
      ChangeFile(path_, wish);
      static_cast<void>(UndoRepair(*joined_, path_).ok());
      return;
    }
    if (const Status undone = UndoRepair(*joined_, path_); !undone.ok())
      return RequireAllowedError(undone.error(), "a repair can be undone");
    const ImageDevice::Image after = device_.Save();
    for (const ZoneId zone : superblock.metadata_zones)
      CheckSame(before.zones[zone.value], after.zones[zone.value]);
  }

  static void CheckSame(const ImageDevice::Image::Zone& before, const ImageDevice::Image::Zone& after) {
    const bool is_bad = before.state.condition == ZoneCondition::kOffline ||
                        before.state.condition == ZoneCondition::kReadOnly;
    if (is_bad || !before.broken.empty()) return;  // unreadable blocks are zeros in the copy
    // A zone that was finished early reads as zeros after its last block, and is restored with
    // these zeros.
    const bool is_full = before.state.condition == ZoneCondition::kFull;
    const bool fits =
        is_full ? after.bytes.size() >= before.bytes.size() : after.bytes.size() == before.bytes.size();
    Require(fits, "what is undone is as long as it was");
    const auto [there, back] = std::ranges::mismatch(before.bytes, after.bytes);
    const bool zeros = std::all_of(back, after.bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    Require(there == before.bytes.end() && zeros, "what is undone is as it was");
  }

  ImageDevice& device_;
  const std::unique_ptr<ZonedDevice> joined_;  // on it
  const std::string& path_;
};

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  ImageInput picked(input);
  const Wish wish = TakeWish(input);
  static const ScratchPath copy;
  ImageDevice& device = picked.Load();
  RunSimulated([&] { Workout(device, copy.path()).Run(wish); });
  return 0;
}
