// The metadata log of a volume with lists of edits of every kind: as commits after the existing
// ones, or as a new generation. The production code encodes and seals them. The log is replayed,
// followed, checked and mounted.
//
//    u8 shape, u8 age, u8 mode, u8 lists of a snapshot, u8 commits before it is complete, records (edit_script.h)
#include <algorithm>
#include <cstdio>
#include <map>

#include "edit_script.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "image_bases.h"
#include "metalog/follower.h"
#include "metalog/generation_writer.h"
#include "metalog/replay.h"
#include "simulated.h"
#include "state_checks.h"
#include "volume_workout.h"

namespace zenfs {
namespace {

enum CommitsMode : std::uint8_t {
  kNoReader = VolumeWorkout::kSkipReader,
  kNoWriter = VolumeWorkout::kSkipWriter,
  kOnlyLog = 4,        // neither checked nor mounted
  kFollowed = 8,       // by a follower that has read the earlier log
  kGeneration = 16,    // a snapshot and commits in another zone
  kFromNothing = 32,   // the snapshot omits the existing state
  kNeverComplete = 64  // the process died during the log switch
};

constexpr std::size_t kListsMax = 24;
constexpr std::uint64_t kSalt = 0x5a17;

// Writes lists into the log and computes the expected result.
class Writer {
 public:
  Writer(ImageDevice& device, const ImageBase& base, const Replayed& before)
      : device_(device), base_(base), before_(before), expected_(before.state), sequence_(before.sequence) {}

  void Run(FuzzInput& input, std::uint8_t mode, std::size_t snapshots, std::size_t early) {
    Metazones zones(device_, base_.superblock);
    GenerationWriter writer = Begin(zones, (mode & kGeneration) != 0);
    const bool from_nothing = (mode & kGeneration) != 0 && (mode & kFromNothing) != 0;
    if (from_nothing) expected_ = State();
    EditScript script(base_.geometry, expected_);
    if ((mode & kGeneration) != 0) {
      if (!writer.BeginZone().ok()) return;
      if (!from_nothing) PutSnapshotOfAll(writer);
      for (std::size_t i = 0; i < snapshots; ++i) PutSnapshot(writer, script, input);
      for (std::size_t i = 0; i < early; ++i) PutCommits(writer, script, input);
      complete_ = (mode & kNeverComplete) == 0 && PutComplete(writer);
    }
    for (std::size_t i = 0; complete_ && i < kListsMax && !input.AtEnd(); ++i)
      PutCommits(writer, script, input);
  }

  bool complete() const { return complete_; }
  // True if all written edits are valid together.
  bool fits() const { return fits_; }
  const State& expected() const { return expected_; }

 private:
  GenerationWriter Begin(Metazones& zones, bool generation) {
    if (generation) {
      return {device_, base_.superblock, zones,
              GenerationWriter::Start{.generation = before_.highest_generation + 1,
                                      .salt = kSalt,
                                      .base_sequence = before_.sequence,
                                      .keep = before_.chain,
                                      .after = before_.chain.back()}};
    }
    return {device_, base_.superblock, zones, before_};
  }

  void PutSnapshotOfAll(GenerationWriter& writer) {
    before_.state.Describe([&](std::vector<Edit> edits) {
      std::string list;
      EncodeEdits(edits, list);
      if (!writer.Write(FrameKind::kSnapshot, list, sequence_, sequence_).ok()) fits_ = false;
    });
  }
  void PutSnapshot(GenerationWriter& writer, EditScript& script, FuzzInput& input) {
    std::uint8_t flags = 0;
    std::string list;
    EncodeEdits(script.Next(input, flags), list);
    if (writer.Write(FrameKind::kSnapshot, list, sequence_, sequence_).ok()) Expect({list});
  }

  // Writes a frame of commits.
  void PutCommits(GenerationWriter& writer, EditScript& script, FuzzInput& input) {
    std::vector<std::string> lists;
    for (std::uint8_t flags = kJoin; (flags & kJoin) != 0 && lists.size() < kListsMax && !input.AtEnd();) {
      const std::vector<Edit> edits = script.Next(input, flags);
      if (!edits.empty()) EncodeEdits(edits, lists.emplace_back());  // an empty commit is damage
    }
    if (lists.empty()) return;
    std::vector<const std::string*> members;
    for (const std::string& list : lists) members.push_back(&list);
    const std::uint64_t last = sequence_ + lists.size();
    if (!writer.Write(FrameKind::kCommit, EncodeCommit(members), sequence_ + 1, last).ok()) return;
    sequence_ = last;
    Expect(lists);
  }

  bool PutComplete(GenerationWriter& writer) {
    const SwitchComplete complete{.salt = writer.salt(),
                                  .frames = writer.frames(),
                                  .sequence = sequence_,
                                  .chain_index = writer.chain_index()};
    return writer.Write(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete), sequence_, sequence_)
        .ok();
  }

  void Expect(const std::vector<std::string>& lists) {
    for (const std::string& list : lists) {
      const auto edits = DecodeEdits(AsBytes(list));
      if (Tells()) Tell(edits);
      fits_ = fits_ && edits &&
              std::ranges::all_of(*edits, [&](const Edit& edit) { return IsOfDevice(edit); }) &&
              expected_.Apply(*edits).ok();
    }
  }

  bool IsOfDevice(const Edit& edit) const {
    const auto* allocated = std::get_if<AllocateLogZones>(&edit);
    return allocated == nullptr || std::ranges::all_of(allocated->zones, [&](const LogZone& zone) {
             return zone.zone.value < base_.geometry.zones;
           });
  }

  // Prints the edits, for a person who replays a finding.
  static void Tell(const Result<std::vector<Edit>>& edits) {
    if (!edits) std::fprintf(stderr, "list: %s\n", edits.error().ToString().c_str());
    if (!edits) return;
    std::fprintf(stderr, "list:\n");
    for (const Edit& edit : *edits) std::fprintf(stderr, "  %s\n", EditText(edit).c_str());
  }

  ImageDevice& device_;
  const ImageBase& base_;
  const Replayed& before_;
  State expected_;
  std::uint64_t sequence_;
  bool complete_ = true;
  bool fits_ = true;
};

// The devices to write to, and the previous contents of their logs.
struct Volumes {
  std::map<std::size_t, ImageDevice> devices;                      // by shape
  std::map<std::pair<std::size_t, std::size_t>, Replayed> before;  // by shape and age
};

Volumes& AllVolumes() {
  static Volumes all = [] {
    Volumes made;
    const auto& bases = ImageBases();
    for (std::size_t shape = 0; shape < SingleImageBases(); ++shape) {
      ImageDevice& device = made.devices.try_emplace(shape, bases[shape].geometry).first->second;
      for (std::size_t age = 0; age < bases[shape].ages.size(); ++age) {
        device.Load(bases[shape].ages[age].image);
        made.before.emplace(std::pair(shape, age), *Replay(device, bases[shape].superblock));
      }
    }
    return made;
  }();
  return all;
}

void CheckReplay(const Result<Replayed>& replayed, const Writer& writer) {
  if (replayed) CheckState(replayed->state);
  if (!writer.complete()) return;
  Require(replayed.has_value() == writer.fits(),
          "a log is replayed if its lists fit: " + (replayed ? "" : replayed.error().ToString()));
  if (replayed) Require(replayed->state == writer.expected(), "what was committed is replayed");
}

// `follower` has read the earlier log.
void CheckFollower(const Result<Replayed>& replayed, LogFollower& follower) {
  const auto now = follower.Refresh();
  if (now && replayed)
    Require(follower.state() == replayed->state, "following and replaying come to the same");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const std::size_t shape = input.Take<std::uint8_t>() % SingleImageBases();
  const ImageBase& base = ImageBases()[shape];
  const std::size_t age = input.Take<std::uint8_t>() % base.ages.size();
  const auto mode = input.Take<std::uint8_t>();
  const std::size_t snapshots = input.Take<std::uint8_t>() % 8;
  const std::size_t early = input.Take<std::uint8_t>() % 4;
  ImageDevice& device = AllVolumes().devices.at(shape);
  Writer writer(device, base, AllVolumes().before.at({shape, age}));
  device.Load(base.ages[age].image);
  RunSimulated([&] {
    LogFollower follower(device, base.superblock, std::chrono::seconds(1));
    const bool followed = (mode & kFollowed) != 0 && follower.Refresh();
    writer.Run(input, mode, snapshots, early);
    const auto replayed = Replay(device, base.superblock);
    CheckReplay(replayed, writer);
    if (followed) CheckFollower(replayed, follower);
    if ((mode & kOnlyLog) == 0) VolumeWorkout(device).Run(mode & (kNoReader | kNoWriter));
  });
  return 0;
}
