// A volume of the older ZenFS with files of every kind that an upgrade treats differently, for the tests of upgrades.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/read_only_view.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/older_writer.h"
#include "testing/temp_directory.h"
#include "upgrade/upgrade.h"
#include "upgrade/upgrade_plan.h"
#include "volume/volume_test_util.h"

namespace zenfs {

using BytesByPath = std::map<std::string, std::string>;  // path -> bytes

struct WrittenPart {
  std::uint64_t written = 0;
  std::string bytes;
  friend bool operator==(const WrittenPart&, const WrittenPart&) = default;
};

inline WrittenPart WrittenOf(ZonedDevice& device, ZoneId zone) {
  const auto report = device.ReportZone(zone);
  EXPECT_TRUE(IsOk(report));
  AlignedBuffer buffer(report->WrittenBytes());
  buffer.Resize(report->WrittenBytes());
  if (!buffer.empty()) {
    EXPECT_TRUE(IsOk(device.Read(report->start, buffer.Span())));
  }
  return {.written = buffer.size(), .bytes = std::string(AsText(buffer.View()))};
}

inline void ReadBelow(Volume& volume, const std::string& directory, BytesByPath& contents) {
  const auto list = volume.List(directory.empty() ? "/" : directory);
  ASSERT_TRUE(IsOk(list));
  for (const DirectoryEntry& entry : *list) {
    const std::string path = directory + "/" + entry.name;
    if (entry.stat.is_directory) {
      ReadBelow(volume, path, contents);
      continue;
    }
    const auto content = GetFile(volume, path);
    ASSERT_TRUE(IsOk(content)) << path;
    contents[path] = *content;
  }
}
// All files, by a read-only mount of whatever volume is there.
inline BytesByPath ReadAll(ZonedDevice& device) {
  BytesByPath contents;
  const auto volume = Volume::Mount(MakeReadOnlyView(device), {});
  EXPECT_TRUE(IsOk(volume));
  if (volume) ReadBelow(**volume, "", contents);
  return contents;
}

inline std::string Numbered(char first, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += first + std::to_string(text.size()) + ";";
  text.resize(bytes);
  return text;
}

inline bool IsOlder(ZonedDevice& device) {
  const auto found = ProbeReadable(device);
  EXPECT_TRUE(IsOk(found));
  return found && found->is_older();
}

class OlderRig {
 public:
  static constexpr ZoneId kOpenTable{7};
  static constexpr ZoneId kOpenLog{8};

  // `is_full`: one data zone is empty.
  explicit OlderRig(const EmulatorGeometry& geometry = SmallGeometry(), std::uint32_t version = 2,
                    bool is_full = false)
      : device_(std::make_unique<CrashDevice>(geometry)), writer_(*device_, version) {
    writer_.Superblock(ZoneId(1), 2);  // an earlier state, which a crash in a switch of the log may leave
    writer_.Snapshot({{.id = 90, .names = {"deleted since"}}});
    writer_.Superblock(ZoneId(0), 3);
    std::vector<OlderWriter::File> files;
    const auto add = [&](OlderWriter::File file, const std::string& bytes) {
      file.id = files.size() + 2;
      for (const std::string& name : file.names) contents_["/" + name] = bytes;
      if (file.active_start == OlderWriter::kNotActive) file.size = bytes.size();
      files.push_back(std::move(file));
    };
    const std::string table = Numbered('t', 30'000);
    add({.names = {"db/1.sst", "copy/1.sst"},
         .extents = {writer_.Plain(ZoneId(3), table.substr(0, 8192)),
                     writer_.Plain(ZoneId(4), table.substr(8192))},
         .mtime = 99},
        table);
    // Synced in the middle: its second and third extent begin inside a block of the file.
    const std::string manifest = Numbered('m', 23'000);
    add({.names = {"db/MANIFEST-4"},
         .extents = {writer_.Plain(ZoneId(3), manifest.substr(0, 9000)),
                     writer_.Plain(ZoneId(5), manifest.substr(9000, 4096)),
                     writer_.Plain(ZoneId(5), manifest.substr(13'096))}},
        manifest);
    const std::string log = Numbered('l', 15'100);
    add({.names = {"db/5.log"},
         .extents = {writer_.Segment(ZoneId(6), log.substr(0, 100)),
                     writer_.Segment(ZoneId(6), log.substr(100))},
         .lifetime = 2,
         .framed = true},
        log);
    add({.names = {"db/CURRENT"}, .extents = {writer_.Plain(ZoneId(4), "MANIFEST-4\n")}}, "MANIFEST-4\n");
    add({.names = {"db/empty"}}, "");
    const std::string open = Numbered('o', 8192);
    add({.names = {"db/7.sst"}, .active_start = writer_.Plain(kOpenTable, open).start}, open);
    add({.names = {"db/8.log"}, .active_start = writer_.Segment(kOpenLog, "open").start - 8, .framed = true},
        "open");
    for (std::uint32_t zone = kOpenLog.value + 2; is_full && zone < geometry.zones; ++zone) {
      const std::string cold = Numbered('c', 4096);
      add({.names = {"cold/" + std::to_string(zone)}, .extents = {writer_.Plain(ZoneId(zone), cold)}}, cold);
      EXPECT_TRUE(IsOk(device_->Finish(ZoneId(zone))));
    }
    writer_.Snapshot(files);
    writer_.Update({.id = 4, .names = {"db/5.log"}, .size = log.size(), .lifetime = 2, .framed = true});
    EXPECT_TRUE(IsOk(device_->Flush()));
  }

  CrashDevice& device() { return *device_; }
  OlderWriter& writer() { return writer_; }
  const BytesByPath& contents() const { return contents_; }
  std::unique_ptr<CrashDevice> Image() const { return device_->Image(LossPolicy::KeepAll()); }

  // What the older program relies on before the switch.
  static std::vector<WrittenPart> OlderParts(ZonedDevice& device) {
    return {WrittenOf(device, ZoneId(0)), WrittenOf(device, kOpenTable), WrittenOf(device, kOpenLog)};
  }

 private:
  std::unique_ptr<CrashDevice> device_;
  OlderWriter writer_;
  BytesByPath contents_;
};

// Upgrades the volume, with the copy in a new file of `directory`. Returns the path of that file.
inline std::string MustUpgrade(ZonedDevice& device, const TempDirectory& directory) {
  static int count = 0;
  std::string file = directory.File("copy-" + std::to_string(++count) + ".zmeta");
  const auto plan = PlanUpgrade(device);
  EXPECT_TRUE(IsOk(plan));
  if (plan) {
    EXPECT_TRUE(IsOk(CarryOutUpgrade(device, *plan, file)));
  }
  return file;
}

}  // namespace zenfs
