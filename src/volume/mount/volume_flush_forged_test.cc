// Append buffers that a user with write permission has changed: the next mount uses nothing that would damage the volume.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/crc32c.h"
#include "base/sync_point.h"
#include "format/buffer_area_layout.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "testing/watched_device.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class VolumeFlushForgedTest : public VolumeFlushTest {
 protected:
  // Publishes each of `records` and one more byte, in the first slots of the append buffers, and nothing else.
  void Forge(const Uuid& volume, const std::vector<TailRecord>& records) {
    const std::vector<std::string> paths = Buffers();
    ASSERT_EQ(paths.size(), 1u);
    std::fstream file(paths.front(), std::ios::binary | std::ios::in | std::ios::out);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto header = ReadBufferAreaHeader(AsBytes(bytes));
    ASSERT_TRUE(IsOk(header));
    bytes.replace(header->controls_offset, header->slots * sizeof(BufferAreaControl),
                  std::string(header->slots * sizeof(BufferAreaControl), '\0'));
    for (std::size_t slot = 0; slot < records.size(); ++slot) {
      const std::string text = EncodeTailRecord(records[slot]);
      const std::string all = text + "x";
      const std::uint64_t owner = records[slot].uncommitted->id.value;
      const std::uint64_t offset = records[slot].uncommitted->size;
      const std::uint32_t crc =
          Crc32c(AsBytes(all), BufferAreaSeed(volume, header->epoch, owner, offset, text.size()));
      const std::uint64_t control[] = {PublishedWord(static_cast<std::uint32_t>(all.size()), crc), owner,
                                       offset, text.size()};
      std::memcpy(bytes.data() + header->controls_offset + slot * sizeof(BufferAreaControl), control,
                  sizeof control);
      std::memcpy(bytes.data() + header->buffers_offset + slot * header->buffer_bytes + kBufferAreaPayloadAt,
                  all.data(), all.size());
    }
    file.seekp(0);
    file << bytes << std::flush;
    ASSERT_TRUE(file.good());
  }

  struct Left {
    DeviceOffset place;  // of the synced bytes
    FileId flushed;
    Uuid volume;
  };
  // Syncs `bytes` to 1.sst, which have one extent, and flushes "flushed" to 2.sst. Then the process dies.
  Left SyncFlushAndDie(std::size_t bytes) {
    Open("1.sst");
    EXPECT_TRUE(IsOk(file_->Append(AsBytes(Text(bytes)))));
    EXPECT_TRUE(IsOk(file_->Sync()));
    const DeviceOffset place = volume_->Layout("1.sst").value().extents.front().place;
    Open("2.sst");
    EXPECT_TRUE(IsOk(AppendAndFlush("flushed")));
    const Left left{place, volume_->Stat("2.sst").value().id, volume_->info().superblock.uuid};
    Die();
    return left;
  }
};

// The zone of the log would be reset once its frames are dead.
TEST_F(VolumeFlushForgedTest, NoExtentInALogZoneIsTakenOver) {
  Open("1.log");
  ASSERT_TRUE(IsOk(file_->Append(AsBytes(Text(5000)))));
  ASSERT_TRUE(IsOk(file_->Sync()));
  Open("2.sst");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  const auto stat = volume_->Stat("2.sst");
  ASSERT_TRUE(IsOk(stat));
  const Uuid volume = volume_->info().superblock.uuid;
  Die();
  const auto superblock = ProbeSuperblock(*device_);
  ASSERT_TRUE(IsOk(superblock));
  const auto replayed = Replay(*device_, *superblock);
  ASSERT_TRUE(IsOk(replayed));
  const auto report = device_->Report(ZoneId(0), device_->geometry().zone_count);
  ASSERT_TRUE(IsOk(report));
  DeviceOffset place;
  for (const auto& [zone, allocated] : replayed->state.log_zones()) {
    if ((*report)[zone.value].WrittenBytes() != 0) place = (*report)[zone.value].start;
  }
  ASSERT_NE(place.value, 0u) << "nothing was written to the log";
  const Extent extent{.file_offset = 0, .place = place, .length = 4096, .crc = std::nullopt};
  Forge(volume,
        {{.order = 9,
          .uncommitted = SetExtents{.id = stat->id, .from_offset = 0, .extents = {extent}, .size = 4096}}});
  ASSERT_FALSE(Mount());
  EXPECT_EQ(mounted_.error().code(), Code::kCorruption);
  EXPECT_NE(mounted_.error().text().find("discard_unsynced"), std::string::npos) << mounted_.error().text();
  const auto checked = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(checked));
  const Finding* const error = FirstError(checked->findings);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(error->text.find("is not in a zone of data"), std::string::npos) << error->text;
  const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  EXPECT_EQ(GetFile(**reader, "2.sst").value_or("<unreadable>"), "flushed")
      << "what the forged extent would replace";
  EXPECT_NE((*reader)->shortfall()->unsynced, "");
  discard_ = true;
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), Text(5000));
}

TEST_F(VolumeFlushForgedTest, ExtentsThatContradictTheirFileAreLeftOutOfACheck) {
  const Left left = SyncFlushAndDie(4096);
  const Extent extent{.file_offset = 0, .place = left.place, .length = 4096, .crc = std::nullopt};
  Forge(
      left.volume,
      {{.order = 9,
        .uncommitted = SetExtents{.id = left.flushed, .from_offset = 0, .extents = {extent}, .size = 5000}}});
  const auto checked = CheckVolume(*device_, {.read_data = true, .progress = {}});
  ASSERT_TRUE(IsOk(checked));
  EXPECT_EQ(std::ranges::count(checked->findings, Severity::kError, &Finding::severity), 1);
  EXPECT_NE(FirstError(checked->findings)->text.find("has size 5000, but its extents"), std::string::npos)
      << FirstError(checked->findings)->text;
  EXPECT_EQ(checked->files, 2u);
  const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  EXPECT_NE((*reader)->shortfall()->unsynced.find("has size 5000, but its extents"), std::string::npos)
      << (*reader)->shortfall()->unsynced;
  EXPECT_EQ(GetFile(**reader, "2.sst").value_or("<unreadable>"), "flushed");
}

// Each one used to cost a copy of all files, and another application of all sound ones before it.
TEST_F(VolumeFlushForgedTest, BadExtentsAreAppliedToNoState) {
  Open("1.sst");
  ASSERT_TRUE(IsOk(file_->Append(AsBytes(Text(4096)))));
  ASSERT_TRUE(IsOk(file_->Sync()));
  const auto layout = volume_->Layout("1.sst");
  ASSERT_TRUE(IsOk(layout));
  std::vector<TailRecord> records;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::string name = "flushed-" + std::to_string(i) + ".sst";
    Open(name);
    ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
    const auto stat = volume_->Stat(name);
    ASSERT_TRUE(IsOk(stat));
    const Extent extent{.file_offset = i % 2 * 4096,  // of every other file with a gap before it
                        .place = layout->extents.front().place,
                        .length = 4096,
                        .crc = std::nullopt};
    records.push_back({.order = 9,
                       .uncommitted = SetExtents{
                           .id = stat->id, .from_offset = 0, .extents = {extent}, .size = extent.end()}});
  }
  const Uuid volume = volume_->info().superblock.uuid;
  Die();
  Forge(volume, records);
  int applied = 0;
  const SyncPoint::Scope counted(
      [&](std::string_view point) { applied += point == "AddFlushedExtents:apply" ? 1 : 0; });
  const auto checked = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(checked));
  EXPECT_EQ(applied, 4);
  EXPECT_EQ(std::ranges::count_if(checked->findings,
                                  [](const Finding& finding) {
                                    return finding.text.find("an extent begins at byte 4096, expected 0") !=
                                           std::string::npos;
                                  }),
            4);
}

// On a device with a volatile cache, the checksum of each extent is read.
TEST_F(VolumeFlushForgedTest, ExtentsOfMoreBytesThanTheDeviceAreNotRead) {
  constexpr std::uint64_t kBytes = 180 * 4096;
  const auto [place, id, volume] = SyncFlushAndDie(kBytes);
  SetExtents edit{.id = id, .from_offset = 0, .extents = {}, .size = 0};
  for (; edit.size <= device_->geometry().size_bytes(); edit.size += kBytes)
    edit.extents.push_back({.file_offset = edit.size, .place = place, .length = kBytes, .crc = 1});
  Forge(volume, {{.order = 9, .uncommitted = edit}});
  const auto mounted = Volume::Mount(Borrow(*device_), Options());
  ASSERT_FALSE(mounted.has_value());
  EXPECT_NE(mounted.error().ToString().find("more bytes than the device"), std::string::npos)
      << mounted.error().ToString();
  const auto checked = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(checked));
  EXPECT_NE(FirstError(checked->findings)->text.find("more bytes than the device"), std::string::npos);
}

// On a drive each report is a command.
TEST_F(VolumeFlushForgedTest, ManyExtentsOfAZoneCostAReaderOneReport) {
  constexpr std::uint64_t kExtents = 180;
  constexpr std::uint64_t kBlock = 4096;
  const auto [first, id, volume] = SyncFlushAndDie(kExtents * kBlock);
  SetExtents edit{.id = id, .from_offset = 0, .size = kExtents * kBlock};
  for (std::uint64_t at = 0; at < edit.size; at += kBlock) {
    edit.extents.push_back({.file_offset = at, .place = first + at, .length = kBlock, .crc = std::nullopt});
  }
  Forge(volume, {{.order = 9, .uncommitted = edit}});
  WatchedDevice watched(Borrow(*device_));
  std::size_t reports = 0;
  const WatchedDevice::Watch watch(watched, {.reported = [&](std::vector<ZoneInfo>&) { ++reports; }});
  const auto reader = Volume::Mount(MakeReadOnlyView(watched), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  EXPECT_EQ(GetFile(**reader, "2.sst").value_or("").size(), edit.size + 1);
  EXPECT_LT(reports, kExtents / 4) << "with those for the metadata";
}

}  // namespace
}  // namespace zenfs
