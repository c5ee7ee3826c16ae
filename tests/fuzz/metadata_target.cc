// Replay of a metadata log. The input is a byte with the kind of access, and a script of the
// contents of three metadata zones (zone_script.h).
#include <algorithm>
#include <vector>

#include "input.h"
#include "metadata_log.h"
#include "metalog/follower.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "simulated.h"
#include "state_checks.h"

namespace zenfs {
namespace {

enum Mode : std::uint8_t { kFollow = 1, kWrite = 2 };

// True for the zones whose end an earlier state of the log may lack: those without a log header, and the last one of each
// generation. A writer ends a zone before it begins the next one.
std::vector<bool> MayHaveGrown(ImageDevice& device, const Superblock& superblock) {
  const auto log = TakeLogFingerprint(device, superblock);
  if (!log) return {};
  std::vector<bool> grown;
  for (const auto& head : log->heads) {
    grown.push_back(std::ranges::none_of(log->heads, [&](const auto& other) {
      return head && other && other->generation == head->generation && other->salt == head->salt &&
             other->chain_index > head->chain_index;
    }));
  }
  return grown;
}

// A follower that began earlier must get the same state as a new replay.
void CheckFollower(ImageDevice& device, const Superblock& superblock, const ImageDevice::Image& image,
                   const Result<Replayed>& replayed) {
  ImageDevice::Image earlier = image;
  const std::vector<bool> grown = MayHaveGrown(device, superblock);
  for (std::size_t i = 0; i < grown.size(); ++i) {
    if (!grown[i]) continue;
    ImageDevice::Image::Zone& zone = earlier.zones[i];
    zone.state.written -= std::min<std::uint64_t>(zone.state.written, 3);
    const bool has_no_pointer =
        zone.state.condition == ZoneCondition::kFull || zone.state.condition == ZoneCondition::kReadOnly;
    if (has_no_pointer)
      zone.state.condition = ZoneCondition::kClosed;  // then the pointer is visible and shows the change
  }
  device.Load(earlier);
  LogFollower follower(device, superblock);
  static_cast<void>(follower.Refresh().has_value());
  device.Load(image);
  const auto now = follower.Refresh();
  if (replayed && now)
    Require(follower.state() == replayed->state, "following and replaying come to the same");
}

// After opening for writing, the log takes a commit and a log switch, and then has the whole state.
void CheckWriting(ImageDevice& device, const Superblock& superblock, const State& before) {
  auto opened = Metalog::Open(device, superblock);
  if (!opened) return;
  Metalog& log = **opened;
  Require(log.recovered() == before, "opening replays");
  State expected = before;
  const std::vector<Edit> edits{SetBufferPlace{"fuzz /place"}};
  const Status committed = log.Commit(edits);
  if (committed.ok()) Require(expected.Apply(edits).ok(), "a commit applies");
  static_cast<void>(log.Switch().ok());
  const bool unknown = !committed.ok() && committed.error().code() == Code::kUnknownOutcome;
  log.Stop();
  opened->reset();
  const auto again = Replay(device, superblock);
  Require(again.has_value(), "what was written is replayed: " + (again ? "" : again.error().ToString()));
  Require(unknown || again->state == expected, "what was committed is there");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  static const Superblock superblock = MetadataSuperblock();
  static ImageDevice device(MetadataGeometry());
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const auto mode = input.Take<std::uint8_t>();
  ImageDevice::Image image;
  image.zones.resize(MetadataGeometry().zones);
  RunZoneScript(MetadataScript(superblock), input, image);
  device.Load(image);
  const auto replayed = Replay(device, superblock);
  if (replayed) CheckState(replayed->state);
  static_cast<void>(NewestGenerationZones(device, superblock));
  if ((mode & kFollow) != 0) CheckFollower(device, superblock, image, replayed);
  if ((mode & kWrite) != 0 && replayed) {
    RunSimulated([&] { CheckWriting(device, superblock, replayed->state); });
  }
  return 0;
}
