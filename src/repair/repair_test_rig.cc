#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

const SurveyedGeneration& Newest(const LogSurvey& survey) { return survey.generations.back(); }

std::vector<SurveyedFrame> FramesOf(const SurveyedGeneration& generation, FrameKind kind) {
  std::vector<SurveyedFrame> frames;
  for (const SurveyedFrame& frame : generation.frames) {
    if (frame.kind == kind) frames.push_back(frame);
  }
  return frames;
}

// The commit that gave the file its name: in the newest generation, the frame that holds the name.
SurveyedFrame CommitOf(RepairRig& rig, const std::string& name) {
  const LogSurvey survey = rig.Survey();
  for (const SurveyedFrame& frame : FramesOf(Newest(survey), FrameKind::kCommit)) {
    const std::string bytes =
        RepairRig::ContentOf(rig.device(), frame.zone).bytes.substr(frame.at, frame.bytes);
    if (bytes.find(name) != std::string::npos) return frame;
  }
  ADD_FAILURE() << "no commit of " << name;
  return {};
}

}  // namespace

const std::vector<Damage>& MetadataDamages() {
  static const std::vector<Damage> damages{
      {"Superblock",
       [](RepairRig& rig) { rig.Flip(Newest(rig.Survey()).frames.back().zone, 100); },
       {},
       "metadata zone \\d+, byte 0: the copy of the superblock"},
      {"LogHeader",
       [](RepairRig& rig) { rig.Flip(Newest(rig.Survey()).frames.back().zone, 4096 + 70); },
       {},
       "metadata zone \\d+, byte 4096: the header of the metadata log of generation 2"},
      {"Snapshot",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Survey()), FrameKind::kSnapshot).front()); },
       {},
       "metadata zone \\d+, byte 8192: 4096 bytes of the metadata log of generation 2 can't be read"},
      {"RollComplete",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Survey()), FrameKind::kRollComplete).front()); },
       {},
       "bytes of the metadata log of generation 2 can't be read"},
      {"CommitInTheMiddle",
       [](RepairRig& rig) { rig.Flip(CommitOf(rig, "12.sst")); },
       {"/db/12.sst"},
       "bytes of the metadata log of generation 2 can't be read[^]*commit \\d+ is lost"},
      {"CommitThatBeganTheEpoch",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Survey()), FrameKind::kCommit).front()); },
       {},
       "bytes of the metadata log of generation 2 can't be read[^]*commit \\d+ is lost"},
      {"LastCommit",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Survey()), FrameKind::kCommit).back()); },
       {"/db/20.log"},
       "the metadata log of generation 2 ends in \\d+ bytes that can't be read"},
      {"NewestZoneOffline",
       [](RepairRig& rig) {
         ASSERT_TRUE(IsOk(
             rig.device().SetCondition(Newest(rig.Survey()).frames.back().zone, ZoneCondition::kOffline)));
       },
       {"/db/10.sst", "/db/11.sst", "/db/12.sst", "/db/13.sst", "/db/14.sst", "/db/15.sst", "/other-name",
        "/db/20.log"},
       "metadata zone \\d+ is offline"},
      {"NewestZoneWiped",
       [](RepairRig& rig) { ASSERT_TRUE(IsOk(rig.device().Reset(Newest(rig.Survey()).frames.back().zone))); },
       {"/db/10.sst", "/db/11.sst", "/db/12.sst", "/db/13.sst", "/db/14.sst", "/db/15.sst", "/other-name",
        "/db/20.log"},
       "a roll of the metadata log had begun behind commit \\d+"},
  };
  return damages;
}

}  // namespace zenfs
