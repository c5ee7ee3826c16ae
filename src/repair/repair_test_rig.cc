#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

const ScannedGeneration& Newest(const MetadataScan& scan) { return scan.generations.back(); }

std::vector<MetadataFrame> FramesOf(const ScannedGeneration& generation, FrameKind kind) {
  std::vector<MetadataFrame> frames;
  for (const MetadataFrame& frame : generation.frames) {
    if (frame.kind == kind) frames.push_back(frame);
  }
  return frames;
}

// The commit that gave the file its name: the frame in the newest generation that holds the name.
MetadataFrame CommitOf(RepairRig& rig, const std::string& name) {
  const MetadataScan scan = rig.Scan();
  for (const MetadataFrame& frame : FramesOf(Newest(scan), FrameKind::kCommit)) {
    const std::string bytes =
        RepairRig::ContentOf(rig.device(), frame.zone).bytes.substr(frame.at, frame.bytes);
    if (bytes.find(name) != std::string::npos) return frame;
  }
  ADD_FAILURE() << "no commit of " << name;
  return {};
}

}  // namespace

void RepairRig::WriteFrame(FrameHeader header) {
  const auto log = Metalog::Open(*device_, superblock_);
  ASSERT_TRUE(IsOk(log));
  const auto room = [this](const auto& each) {
    const ZoneInfo zone = device_->ReportZone(each.first).value();
    return zone.capacity - zone.WrittenBytes();
  };
  const auto zones = (*log)->recovered().log_zones();
  (*log)->Stop();
  ASSERT_FALSE(zones.empty());
  const auto& [id, zone] = *std::ranges::max_element(zones, {}, room);
  const std::uint32_t block = device_->geometry().block_size;
  ASSERT_GE(room(std::pair(id, zone)), block);
  header.kind = FrameKind::kLogData;
  header.header_bytes = kFrameHeaderBytes;
  AlignedBuffer buffer(block);
  buffer.Resize(block);
  std::ranges::fill(buffer.Span(), std::byte{0});
  SealFrame(buffer.Span().first(kFrameHeaderBytes + header.payload_bytes), header,
            FrameSeed::Of(superblock_.seed, id, zone.generation, zone.salt));
  ASSERT_TRUE(IsOk(device_->Write(device_->ReportZone(id).value().write_pointer, buffer.View())));
  ASSERT_TRUE(IsOk(device_->Flush()));
}

const std::vector<Damage>& MetadataDamages() {
  static const std::vector<Damage> damages{
      {"Superblock",
       [](RepairRig& rig) { rig.Flip(Newest(rig.Scan()).frames.back().zone, 100); },
       {},
       "metadata zone \\d+, byte 0: the copy of the superblock"},
      {"LogHeader",
       [](RepairRig& rig) { rig.Flip(Newest(rig.Scan()).frames.back().zone, 4096 + 70); },
       {},
       "metadata zone \\d+, byte 4096: the header of the metadata log of generation 2"},
      {"Snapshot",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Scan()), FrameKind::kSnapshot).front()); },
       {},
       "metadata zone \\d+, byte 8192: 4096 bytes of the metadata log of generation 2 can't be read"},
      {"SwitchComplete",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Scan()), FrameKind::kSwitchComplete).front()); },
       {},
       "bytes of the metadata log of generation 2 can't be read"},
      {"CommitInTheMiddle",
       [](RepairRig& rig) { rig.Flip(CommitOf(rig, "12.sst")); },
       {"/db/12.sst"},
       "bytes of the metadata log of generation 2 can't be read[^]*commit \\d+ is lost"},
      {"CommitThatBeganTheEpoch",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Scan()), FrameKind::kCommit).front()); },
       {},
       "bytes of the metadata log of generation 2 can't be read[^]*commit \\d+ is lost"},
      {"LastCommit",
       [](RepairRig& rig) { rig.Flip(FramesOf(Newest(rig.Scan()), FrameKind::kCommit).back()); },
       {"/db/20.log"},
       "the metadata log of generation 2 ends in \\d+ bytes that can't be read"},
      {"NewestZoneOffline",
       [](RepairRig& rig) {
         ASSERT_TRUE(
             IsOk(rig.device().SetCondition(Newest(rig.Scan()).frames.back().zone, ZoneCondition::kOffline)));
       },
       {"/db/10.sst", "/db/11.sst", "/db/12.sst", "/db/13.sst", "/db/14.sst", "/db/15.sst", "/other-name",
        "/db/20.log"},
       "metadata zone \\d+ is offline"},
      {"LogHeaderAndSwitchComplete",  // nothing proves its generation
       [](RepairRig& rig) {
         const MetadataFrame complete = FramesOf(Newest(rig.Scan()), FrameKind::kSwitchComplete).front();
         rig.Flip(complete);
         rig.Flip(complete.zone, 4096 + 70);
       },
       {"/db/10.sst", "/db/11.sst", "/db/12.sst", "/db/13.sst", "/db/14.sst", "/db/15.sst", "/other-name",
        "/db/20.log"},
       "metadata zone \\d+ seems to hold a newer generation, but its log header can't be read: it may hold "
       "commits after \\d+"},
      {"NewestZoneWiped",
       [](RepairRig& rig) { ASSERT_TRUE(IsOk(rig.device().Reset(Newest(rig.Scan()).frames.back().zone))); },
       {"/db/10.sst", "/db/11.sst", "/db/12.sst", "/db/13.sst", "/db/14.sst", "/db/15.sst", "/other-name",
        "/db/20.log"},
       "a log switch began after commit \\d+"},
  };
  return damages;
}

}  // namespace zenfs
