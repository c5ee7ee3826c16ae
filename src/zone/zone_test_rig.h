// Test rig: an emulated device in memory with fault injection, and a ZoneManager on it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "model/state.h"
#include "testing/faulty_device.h"
#include "zone/extent_sink.h"
#include "zone/zone_manager.h"

namespace zenfs {

inline constexpr std::uint64_t kTestBlock = 4096;

inline EmulatorGeometry TestGeometry(std::uint32_t zones, std::uint64_t blocks_a_zone,
                                     std::uint32_t limit = 14) {
  EmulatorGeometry geometry;
  geometry.zones = zones;
  geometry.zone_size = blocks_a_zone * kTestBlock;
  geometry.max_open = geometry.max_active = limit;
  return geometry;
}

class ZoneTestRig {
 public:
  explicit ZoneTestRig(const EmulatorGeometry& geometry) : ZoneTestRig(CreateMemoryDevice(geometry)) {}

  // Creates a manager from the present zone report. Call Adopt if there are live files, then zones->Start().
  void Create(std::uint32_t metadata_zones = 0, std::uint32_t log_needs = 0, std::uint32_t spread = 1) {
    zones.reset();
    auto plan = PlanSlots(device.geometry(), device.name());
    ASSERT_TRUE(plan);
    ZoneManager::Options options;
    for (std::uint32_t i = 0; i < metadata_zones; ++i) options.metadata_zones.push_back(ZoneId(i));
    options.log = {.needs = log_needs, .least = log_needs};
    options.headroom = headroom;
    auto report = ReportAll(device);
    ASSERT_TRUE(report);
    auto created = ZoneManager::Create(device, *plan, std::move(*report), options);
    ASSERT_TRUE(created);
    zones = std::move(*created);
    sink = std::make_unique<ExtentSink>(*zones, WritePurpose::kData, spread);
  }
  void Mount(std::uint32_t metadata_zones = 0, std::uint32_t log_needs = 0, std::uint32_t spread = 1) {
    Create(metadata_zones, log_needs, spread);
    ASSERT_TRUE(zones->Start().ok());
  }
  struct File {
    std::vector<Extent> extents;
    Lifetime lifetime = Lifetime::kNotSet;
  };
  // The manager adopts the state that has these files.
  void Adopt(const std::vector<File>& files) {
    State state;
    std::uint64_t next = state.next_id();
    std::vector<Edit> edits{RaiseCounters{next + files.size(), 0}};
    for (const File& file : files) {
      const FileId id(next++);
      edits.emplace_back(CreateFile{id, FileShape::kPlain, file.lifetime, 0});
      edits.emplace_back(LinkFile{kRootDirectory, std::to_string(id.value), id});
      if (!file.extents.empty())
        edits.emplace_back(SetExtents{id, 0, file.extents, file.extents.back().end()});
    }
    ASSERT_TRUE(state.Apply(edits).ok());
    zones->Adopt(state);
  }

  Result<ExtentSink::Placed> Write(SinkCursor& cursor, Lifetime lifetime, std::uint64_t blocks,
                                   Deadline deadline = Soon()) {
    const ByteView bytes = Bytes(blocks);
    return sink->Write(cursor, lifetime, std::span<const ByteView>(&bytes, 1), deadline);
  }
  // Writes `blocks` blocks, in one or more zones, and counts them as committed live data.
  Result<std::vector<Extent>> WriteLive(SinkCursor& cursor, Lifetime lifetime, std::uint64_t blocks) {
    std::vector<Extent> extents;
    for (std::uint64_t left = blocks * kTestBlock, at = 0; left != 0;) {
      auto placed = Write(cursor, lifetime, left / kTestBlock);
      if (!placed) {
        zones->RemoveLive(extents);
        return Fail(std::move(placed).error());
      }
      extents.push_back({at, placed->place, placed->length});
      zones->AddLive(std::span<const Extent>(&extents.back(), 1));
      at += placed->length;
      left -= placed->length;
    }
    return extents;
  }
  ZoneStatus StatusOf(ZoneId zone) const { return zones->Zones()[zone.value]; }
  ZoneId ZoneOf(const Extent& extent) const { return device.geometry().ZoneOf(extent.place); }
  std::uint32_t ActiveOnDevice() {
    std::uint32_t active = 0;
    const auto report = ReportAll(device);
    for (const ZoneInfo& info : report.value()) active += IsActive(info.condition);
    return active;
  }
  void ExpectSound() const {
    EXPECT_EQ(zones->Check(), std::vector<std::string>{});
    const SpaceReport s = zones->Space();
    EXPECT_EQ(s.total, s.metadata + s.log + s.reclaim + s.live + s.garbage + s.free + s.lost);
  }
  ByteView Bytes(std::uint64_t blocks) const { return memory_.View(0, blocks * kTestBlock); }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

 private:
  explicit ZoneTestRig(std::unique_ptr<EmulatorDevice> made) : emulator(*made), device(std::move(made)) {
    memory_ = AlignedBuffer(4096 * kTestBlock);
    std::memset(memory_.data(), 'z', memory_.capacity());
  }

 public:
  bool headroom = false;  // of the next manager
  EmulatorDevice& emulator;
  FaultyDevice device;
  std::unique_ptr<ZoneManager> zones;
  std::unique_ptr<ExtentSink> sink;

 private:
  AlignedBuffer memory_;
};

}  // namespace zenfs
