// A volume with history (a file for each commit, logs, links, a directory, two generations of the
// metadata log), and ways to damage it, for the tests of repair.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "format/frame.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "repair/repair.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/temp_directory.h"
#include "volume/volume_test_util.h"

namespace zenfs {

using Files = std::map<std::string, std::string>;  // path -> content

struct ZoneBytes {
  std::uint64_t written = 0;
  std::string bytes;
  friend bool operator==(const ZoneBytes&, const ZoneBytes&) = default;
};

inline std::string TextOf(std::uint64_t seed, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += fmt::format("{:08x} of {};", text.size(), seed);
  text.resize(bytes);
  return text;
}

class RepairRig {
 public:
  // A volume whose newest generation holds the last commits. `files()` returns its contents.
  RepairRig() : device_(std::make_unique<CrashDevice>(SmallGeometry())) {
    EXPECT_TRUE(IsOk(FormatVolume(*device_, {.metadata_zones = 3})));  // one copy, so that damage is a loss
    superblock_ = *ProbeSuperblock(*device_);
    Session([&](Volume& volume) {
      EXPECT_TRUE(IsOk(volume.MakeDirectory("/db", false)));
      for (int i = 0; i < 4; ++i) Put(volume, fmt::format("/db/{}.sst", i), TextOf(i, 100'000));
      Put(volume, "/db/5.log", TextOf(5, 60'000));
    });
    Switch();
    Session([&](Volume& volume) {
      for (int i = 10; i < 16; ++i) Put(volume, fmt::format("/db/{}.sst", i), TextOf(i, 50'000));
      EXPECT_TRUE(IsOk(volume.Link("/db/10.sst", "/other-name")));
      files_["/other-name"] = files_["/db/10.sst"];
      Put(volume, "/db/20.log", TextOf(20, 30'000));
    });
  }

  // Another rig with what is on the device now.
  RepairRig Copy() const { return {device_->Image(LossPolicy::KeepAll()), superblock_, files_}; }

  CrashDevice& device() { return *device_; }
  const Superblock& superblock() const { return superblock_; }
  const Files& files() const { return files_; }
  MetadataScan Scan() {
    auto scan = ScanMetadata(*device_, superblock_);
    EXPECT_TRUE(IsOk(scan));
    return scan ? *scan : MetadataScan();
  }
  // Of the newest generation.
  std::vector<MetadataFrame> CommitFrames() {
    std::vector<MetadataFrame> frames = Scan().generations.back().frames;
    std::erase_if(frames, [](const MetadataFrame& frame) { return frame.kind != FrameKind::kCommit; });
    return frames;
  }

  void Session(const std::function<void(Volume&)>& work) {
    auto volume = Volume::Mount(Borrow(*device_), {});
    ASSERT_TRUE(IsOk(volume));
    work(**volume);
    ASSERT_TRUE(IsOk((*volume)->Unmount()));
  }
  // The process dies before the volume is unmounted.
  void SessionThatDies(const std::function<void(Volume&)>& work) {
    auto volume = Volume::Mount(Borrow(*device_), {});
    ASSERT_TRUE(IsOk(volume));
    work(**volume);
    device_->StopAfter(device_->commands());
    volume->reset();
    device_ = device_->Image(LossPolicy::KeepAll());
  }
  void FlipAt(DeviceOffset place) {
    const Geometry& geometry = device_->geometry();
    const ZoneId zone = geometry.ZoneOf(place);
    Flip(zone, place - geometry.ZoneStart(zone));
  }
  // Writes a valid frame of zeros at the end of the log zone with the most room.
  void WriteFrame(FrameHeader header);
  void Switch() {
    auto log = Metalog::Open(*device_, superblock_);
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Switch()));
    (*log)->Stop();
  }
  void Put(Volume& volume, const std::string& path, const std::string& content) {
    auto file = volume.Create(path);
    ASSERT_TRUE(IsOk(file));
    for (std::size_t at = 0; at < content.size(); at += 10'000) {  // a log of several frames
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(content.substr(at, 10'000)))));
      if (path.ends_with(".log")) {
        ASSERT_TRUE(IsOk((*file)->Sync()));
      }
    }
    ASSERT_TRUE(IsOk((*file)->Sync()));
    ASSERT_TRUE(IsOk((*file)->Close()));
    files_[path] = content;
  }

  // Rewrites a zone with `change` applied to its bytes. Its write pointer is the same afterwards.
  void Rewrite(ZoneId zone, const std::function<void(std::string&)>& change) {
    ZoneBytes content = ContentOf(*device_, zone);
    change(content.bytes);
    ASSERT_TRUE(IsOk(device_->Reset(zone)));
    AlignedBuffer buffer(content.bytes.size());
    buffer.Append(AsBytes(content.bytes));
    if (!content.bytes.empty()) {
      ASSERT_TRUE(IsOk(device_->Write(device_->geometry().ZoneStart(zone), buffer.View())));
    }
    ASSERT_TRUE(IsOk(device_->Flush()));
  }
  void Flip(ZoneId zone, std::uint64_t at) {
    Rewrite(zone, [at](std::string& bytes) { bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x10); });
  }
  // Flips a bit in the middle of the frame.
  void Flip(const MetadataFrame& frame) { Flip(frame.zone, frame.at + 70); }

  static ZoneBytes ContentOf(ZonedDevice& device, ZoneId zone) {
    const auto report = device.ReportZone(zone);
    EXPECT_TRUE(IsOk(report));
    ZoneBytes content{.written = report->WrittenBytes(), .bytes = {}};
    AlignedBuffer buffer(content.written);
    buffer.Resize(content.written);
    if (content.written != 0) {
      EXPECT_TRUE(IsOk(device.Read(device.geometry().ZoneStart(zone), buffer.Span())));
    }
    content.bytes = std::string(AsText(buffer.View()));
    return content;
  }
  static std::vector<ZoneBytes> AllZones(ZonedDevice& device) {
    std::vector<ZoneBytes> all;
    for (std::uint32_t i = 0; i < device.geometry().zone_count; ++i)
      all.push_back(ContentOf(device, ZoneId(i)));
    return all;
  }

  // All files of the volume on `device`. The content of a file that can't be read is "<error>".
  static Files ReadAll(ZonedDevice& device, std::vector<std::string>* notices = nullptr) {
    Files files;
    auto volume = Volume::Mount(Borrow(device), {});
    EXPECT_TRUE(IsOk(volume));
    if (!volume) return files;
    if (notices != nullptr) *notices = (*volume)->notices();
    ReadBelow(**volume, "", files);
    EXPECT_TRUE(IsOk((*volume)->Unmount()));
    return files;
  }

 private:
  RepairRig(std::unique_ptr<CrashDevice> device, const Superblock& superblock, Files files)
      : device_(std::move(device)), superblock_(superblock), files_(std::move(files)) {}

  static void ReadBelow(Volume& volume, const std::string& directory, Files& files) {
    const auto list = volume.List(directory.empty() ? "/" : directory);
    ASSERT_TRUE(IsOk(list));
    for (const DirectoryEntry& entry : *list) {
      const std::string path = directory + "/" + entry.name;
      if (entry.stat.is_directory) {
        ReadBelow(volume, path, files);
        continue;
      }
      auto file = volume.OpenForRead(path);
      ASSERT_TRUE(IsOk(file));
      std::string content((*file)->size(), '\0');
      const auto read = (*file)->Read(0, std::as_writable_bytes(std::span(content)));
      files[path] = read && *read == content.size() ? content : "<error>";
    }
  }

  std::unique_ptr<CrashDevice> device_;
  Superblock superblock_;
  Files files_;
};

// Repairs the volume, with the copy in a new file of `directory`. Returns the path of that file.
inline std::string MustRepair(ZonedDevice& device, const TempDirectory& directory) {
  static int count = 0;
  const std::string file = directory.File(fmt::format("copy-{}.zmeta", ++count));
  const auto plan = PlanRepair(device);
  EXPECT_TRUE(IsOk(plan));
  if (plan) {
    EXPECT_TRUE(IsOk(CarryOut(device, *plan, file)));
  }
  return file;
}

// Damage to the metadata, and the files that it may affect.
struct Damage {
  std::string name;
  std::function<void(RepairRig&)> make;
  std::vector<std::string> lost_names;  // files that may be in /lost+found only
  std::string said_by_check;            // regular expression
};
const std::vector<Damage>& MetadataDamages();

}  // namespace zenfs
