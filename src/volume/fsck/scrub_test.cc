#include <fmt/format.h>
#include <gmock/gmock.h>
#include <algorithm>
#include <cstring>

#include "format/frame.h"
#include "testing/bit_rot.h"
#include "testing/device_data.h"
#include "testing/direct_commit.h"
#include "testing/faulty_device.h"
#include "volume/fsck/live_volume_test_rig.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string Text(std::size_t bytes, std::uint64_t seed) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 131 + seed) % 26);
  return text;
}

// A place that a checksum covers, and the finding that a scrub must report if a bit of it is flipped.
struct Target {
  std::string what;
  DeviceOffset place;
  std::string path;  // of the damaged file; empty for metadata
};

class ScrubTest : public VolumeTest {
 protected:
  static constexpr std::uint32_t kBlock = 4096;

  // Writes every kind of content that a volume can have, then unmounts.
  void Fill() {
    // Enough commits for a log switch, so that a superseded generation exists.
    const std::uint64_t generation = volume_->counters().metalog.generation;
    for (int i = 0; volume_->counters().metalog.generation < generation + 2; ++i) {
      ASSERT_LT(i, 5000);
      ASSERT_TRUE(IsOk(volume_->MakeDirectory(fmt::format("dir{}", i % 10), true)));
      ASSERT_TRUE(IsOk(volume_->RemoveDirectory(fmt::format("dir{}", i % 10))));
    }
    ASSERT_TRUE(IsOk(volume_->MakeDirectory("db", true)));
    Put("db/one.sst", Text(100, 1));
    Put("db/two.sst", Text(3 * kBlock + 17, 2));
    Put("db/three.sst", Text(40 * kBlock, 3));
    ASSERT_TRUE(IsOk(volume_->Link("db/two.sst", "also-two.sst")));
    for (const char* name : {"db/a.log", "db/b.log"}) {
      auto file = volume_->Create(name);
      ASSERT_TRUE(IsOk(file));
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(IsOk((*file)->Append(AsBytes(Text(3000 + 900 * i, i)))));
        ASSERT_TRUE(IsOk((*file)->Sync()));
      }
    }
    for (const char* name : {"/db/one.sst", "/db/two.sst", "/db/three.sst", "/db/a.log", "/db/b.log"}) {
      AddTargetsOf(name);
    }
    metadata_zones_ = volume_->info().superblock.metadata_zones;
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    AddMetadataTargets();
  }

  void AddTargetsOf(const std::string& path) {
    const auto layout = volume_->Layout(path);
    ASSERT_TRUE(IsOk(layout));
    for (const Extent& extent : layout->extents) {
      for (std::uint64_t at = 0; at < extent.length; at += kBlock) {
        targets_.push_back(
            {path + " extent", extent.place + std::min(at + at / kBlock, extent.length - 1), path});
      }
      targets_.push_back({path + " last byte", extent.place + (extent.length - 1), path});
    }
    for (const Extent& frame : layout->frames) {
      targets_.push_back({path + " frame payload", frame.place, path});
      targets_.push_back({path + " frame end", frame.place + (frame.length - 1), path});
      for (const std::uint64_t byte : {0, 4, 9, 24, 33, 60}) {
        targets_.push_back(
            {path + " frame header", DeviceOffset(frame.place.value - kFrameHeaderBytes + byte), path});
      }
    }
  }

  // Lists the frames of all metadata zones, which are still undamaged. The highest generation is the one in use.
  void AddMetadataTargets() {
    std::uint64_t newest = 0;
    for (const bool adding : {false, true}) {
      for (const ZoneId zone : metadata_zones_) {
        const ZoneInfo info = device_->ReportZone(zone).value();
        if (info.WrittenBytes() == 0) continue;
        std::uint64_t generation = 0;
        for (std::uint64_t at = kBlock; at < info.WrittenBytes();) {
          const FrameHeader header = HeaderAt(info.start + at);
          ASSERT_EQ(header.magic, kFrameMagic);
          generation = header.file_offset;
          if (adding && generation == newest) AddFrame(info.start + at, header);
          if (adding && generation != newest) {
            superseded_.push_back({"superseded frame", info.start + at + 25, ""});
          }
          at += header.BytesOnDevice(kBlock);
        }
        newest = std::max(newest, generation);
        if (!adding) continue;
        for (const std::uint64_t byte : {0, 33, 4000})
          targets_.push_back({"superblock", info.start + byte, ""});
      }
    }
  }
  FrameHeader HeaderAt(DeviceOffset place) {
    AlignedBuffer block(kBlock);
    block.Resize(kBlock);
    EXPECT_TRUE(IsOk(device_->Read(place, block.Span())));
    FrameHeader header;
    std::memcpy(&header, block.data(), sizeof header);
    return header;
  }
  void AddFrame(DeviceOffset place, const FrameHeader& header) {
    const std::string kind = fmt::format("metadata frame of kind {}", static_cast<int>(header.kind));
    ++kinds_[header.kind];
    targets_.push_back({kind, place + 4, ""});
    targets_.push_back({kind, place + 25, ""});
    if (header.payload_bytes == 0) return;
    targets_.push_back({kind, place + header.header_bytes, ""});
    targets_.push_back({kind, place + (header.header_bytes + header.payload_bytes - 1), ""});
  }

  static std::string Sentences(const ScrubReport& report) {
    std::string text;
    for (const Finding& finding : report.findings) text += finding.text + "\n";
    return text;
  }
  static const Finding* ErrorIn(const ScrubReport& report, ZoneId zone, const std::string& path) {
    const auto it = std::ranges::find_if(report.findings, [&](const Finding& finding) {
      return finding.severity == Severity::kError && finding.zone == zone &&
             (path.empty() || std::ranges::find(finding.paths, path) != finding.paths.end());
    });
    return it == report.findings.end() ? nullptr : &*it;
  }

  BitRot rot_{*device_};
  std::vector<ZoneId> metadata_zones_;
  std::vector<Target> targets_;
  std::vector<Target> superseded_;  // frames that only a repair would use
  std::map<FrameKind, int> kinds_;
};

TEST_F(ScrubTest, ASoundVolumeIsCleanAndAllOfItIsCounted) {
  Fill();
  const auto report = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->findings.empty()) << Sentences(*report);
  EXPECT_EQ(report->files, 5u);
  EXPECT_EQ(report->extents_without_checksum, 0u);
  EXPECT_EQ(report->extent_bytes, 100u + 3 * kBlock + 17 + 40 * kBlock);
  EXPECT_GE(report->superblocks, 2u);
  EXPECT_GE(report->log_frames, 8u);
  EXPECT_GE(report->metadata_frames, 3u);
}

TEST_F(ScrubTest, AFlippedBitIsFoundWhereverItIsAndItsZoneAndFileAreNamed) {
  Fill();
  for (const FrameKind kind :
       {FrameKind::kLogHeader, FrameKind::kSnapshot, FrameKind::kSwitchComplete, FrameKind::kCommit})
    EXPECT_GT(kinds_[kind], 0) << static_cast<int>(kind);
  std::uint8_t bits = 1;
  for (const Target& target : targets_) {
    rot_.Heal();
    rot_.Flip(target.place, bits);
    bits = bits == 0x80 ? 1 : static_cast<std::uint8_t>(bits << 1);
    const auto report = ScrubVolume(rot_, {});
    const std::string where = fmt::format("{} at {}", target.what, target.place.value);
    ASSERT_TRUE(IsOk(report)) << where;
    EXPECT_FALSE(report->clean()) << where;
    EXPECT_NE(ErrorIn(*report, device_->geometry().ZoneOf(target.place), target.path), nullptr)
        << where << " but found:\n"
        << Sentences(*report);
    if (target.path.empty()) continue;
    for (const Finding& finding : report->findings) {
      EXPECT_THAT(finding.paths, Contains(target.path)) << where << ": " << finding.text;
      EXPECT_THAT(finding.text, HasSubstr(target.path));
      EXPECT_LE(finding.offset->value, target.place.value) << where;
    }
  }
}

TEST_F(ScrubTest, ADamagedFrameOfTheSupersededGenerationIsToldAndNoError) {
  Fill();
  ASSERT_GT(superseded_.size(), 3u);
  std::map<Severity, int> found;
  for (const Target& target : superseded_) {
    rot_.Heal();
    rot_.Flip(target.place);
    const auto report = ScrubVolume(rot_, {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_TRUE(report->clean()) << Sentences(*report);
    ASSERT_EQ(report->findings.size(), 1u) << target.place.value << Sentences(*report);
    EXPECT_EQ(report->findings[0].zone, device_->geometry().ZoneOf(target.place));
    ++found[report->findings[0].severity];
  }
  EXPECT_EQ(found[Severity::kNote], 2)
      << "only the last frame of each of two zones may be an interrupted commit";
}

TEST_F(ScrubTest, AllThatIsDamagedIsReportedNotOnlyTheFirst) {
  Fill();
  std::vector<std::string> paths;
  for (const Target& target : targets_) {
    if (target.path.empty() || std::ranges::find(paths, target.path) != paths.end()) continue;
    rot_.Flip(target.place);
    paths.push_back(target.path);
  }
  const auto report = ScrubVolume(rot_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(paths.size(), 5u);
  for (const std::string& path : paths) {
    EXPECT_TRUE(std::ranges::any_of(report->findings, [&](const Finding& finding) {
      return std::ranges::find(finding.paths, path) != finding.paths.end();
    })) << path;
  }
  EXPECT_EQ(report->files, 5u);
}

TEST_F(ScrubTest, EachNameOfADamagedFileIsTold) {
  Fill();
  const auto target = std::ranges::find(targets_, "/db/two.sst", &Target::path);
  rot_.Flip(target->place);
  const auto report = ScrubVolume(rot_, {});
  ASSERT_TRUE(IsOk(report));
  ASSERT_EQ(report->findings.size(), 1u) << Sentences(*report);
  EXPECT_THAT(report->findings.front().text,
              HasSubstr("(/also-two.sst, /db/two.sst): bytes 0 to 12305 do not match"));
}

TEST_F(ScrubTest, BlocksThatCantBeReadAreNamedAndTheRestIsRead) {
  Fill();
  const auto target = std::ranges::find(targets_, "/db/two.sst", &Target::path);
  FaultyDevice faulty(Borrow(*device_));
  const ZoneId zone = device_->geometry().ZoneOf(target->place);
  faulty.Inject({.command = FaultyDevice::Command::kRead, .times = 1'000'000, .zone = zone});
  const auto report = ScrubVolume(faulty, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_THAT(Sentences(*report), HasSubstr("/db/two.sst): bytes 0 to 12305 can't be read ("));
  EXPECT_EQ(report->files, 5u);
}

// The remains of a log switch that failed before another one succeeded, if the power was lost before the reset of its zone
// was durable.
TEST_F(ScrubTest, ATornCopyOfTheSuperblockInASwitchThatNeverWasIsNoDamage) {
  Fill();
  const auto old = std::ranges::min_element(metadata_zones_, {}, [this](ZoneId zone) {
    const ZoneInfo info = device_->ReportZone(zone).value();
    return info.WrittenBytes() == 0 ? UINT64_MAX : HeaderAt(info.start + kBlock).file_offset;
  });
  const DeviceOffset start = device_->geometry().ZoneStart(*old);
  auto begin = ReadBack(*device_, start, 2 * kBlock);
  ASSERT_TRUE(begin);
  std::ranges::fill(begin->Span().first(kBlock), std::byte{0});
  ASSERT_TRUE(IsOk(device_->Reset(*old)));
  ASSERT_TRUE(IsOk(device_->Write(start, begin->View())));
  const auto report = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  ASSERT_EQ(report->findings.size(), 1u) << Sentences(*report);
  EXPECT_EQ(report->findings.front().severity, Severity::kWarning);
  EXPECT_THAT(report->findings.front().text, HasSubstr("it is not needed"));
}

TEST_F(ScrubTest, FilesWithoutChecksumsAreReadAndCounted) {
  Put("old.sst", Text(2 * kBlock + 5, 1));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  ForgetChecksums(*device_);
  Mount();
  const auto report = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->extents_without_checksum, 1u);
  EXPECT_EQ(report->bytes_without_checksum, 2 * kBlock + 5u);
}

// Truncates a table, and a log whose bytes were cleaned into extents.
TEST_F(ScrubTest, ABitOfWhatATruncationLeftIsMissedNowhere) {
  Put("cut.sst", Text(500'000, 1));
  auto log = volume_->Create("cut.log");
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk((*log)->Append(AsBytes(Text(100'000, 2)))));
  ASSERT_TRUE(IsOk((*log)->Sync()));
  for (int i = 0; volume_->counters().written.cleaned == 0; ++i) {
    ASSERT_LT(i, 500);
    Put("other.log", Text(300'000, 3));
  }
  ASSERT_TRUE(IsOk((*log)->Truncate(2 * kBlock + 5)));
  ASSERT_TRUE(IsOk((*log)->Close()));
  log->reset();
  ASSERT_TRUE(IsOk(TruncateFile(*volume_, "cut.sst", 100'001)));
  const std::string expected = Text(100'000, 2).substr(0, 2 * kBlock + 5);
  EXPECT_EQ(Get("cut.log"), expected);
  Remount();
  EXPECT_EQ(Get("cut.log"), expected);
  for (const char* path : {"/cut.sst", "/cut.log"}) {
    const auto layout = volume_->Layout(path);
    ASSERT_TRUE(IsOk(layout));
    ASSERT_FALSE(layout->extents.empty()) << path;
    for (const Extent& extent : layout->extents) {
      for (const std::uint64_t byte : {std::uint64_t{0}, extent.length - 1}) {
        rot_.Heal();
        rot_.Flip(extent.place + byte);
        const auto report = ScrubVolume(rot_, {});
        ASSERT_TRUE(IsOk(report));
        EXPECT_EQ(report->bytes_without_checksum, 0u);
        EXPECT_NE(ErrorIn(*report, device_->geometry().ZoneOf(extent.place), path), nullptr)
            << path << ' ' << byte;
      }
    }
  }
  rot_.Heal();
  EXPECT_TRUE(ScrubVolume(rot_, {})->clean());
}

TEST_F(ScrubTest, ReadsNoFasterThanAsked) {
  Put("big.sst", Text(500'000, 1));
  const SteadyTime begin = SteadyNow();
  ASSERT_TRUE(IsOk(ScrubVolume(*device_, {.bytes_per_second = 4 << 20, .progress = {}})));
  EXPECT_GE(SteadyNow() - begin, std::chrono::milliseconds(100));
}

TEST_F(ScrubTest, ProgressEndsWhereItSaidItWould) {
  Fill();
  std::uint64_t last = 0, total = 0;
  ASSERT_TRUE(IsOk(
      ScrubVolume(*device_, {.bytes_per_second = 0, .progress = [&](std::uint64_t done, std::uint64_t of) {
                               EXPECT_GE(done, last);
                               last = done;
                               total = of;
                             }})));
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 40 * kBlock);
}

TEST_F(ScrubTest, ADeviceWithoutZenFsIsAnErrorAndNoReport) {
  const auto empty = CreateMemoryDevice(SmallGeometry());
  EXPECT_EQ(CodeOf(ScrubVolume(*empty, {})), Code::kNotFound);
}

// If each damaged file cost a copy of the state, this would take minutes.
TEST(ScrubManyTest, AFileThatIsDamagedCostsNoCopyOfAllFiles) {
  constexpr std::uint64_t kFiles = 30'000;
  const auto device = CreateMemoryDevice({.zones = 24, .zone_size = 16 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  ASSERT_TRUE(IsOk(CommitDirectly(*device, [](const State& state) {
    const std::uint64_t first = state.next_id();
    std::vector<Edit> edits{RaiseCounters{first + kFiles, 0}};
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      const Extent nowhere{.place = DeviceOffset(std::uint64_t{1} << 50), .length = 1};
      edits.push_back(CreateFile{.id = FileId(first + i)});
      edits.push_back(LinkFile{kRootDirectory, std::to_string(i), FileId(first + i)});
      edits.push_back(SetExtents{.id = FileId(first + i), .extents = {nowhere}, .size = 1});
    }
    return edits;
  })));
  const auto report = ScrubVolume(*device, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(report->files, kFiles);
  EXPECT_EQ(report->findings.size() + report->findings.omitted(Severity::kError), kFiles);
}

}  // namespace
}  // namespace zenfs

// Scrubs of a volume that is written during the scrub.

namespace zenfs {
namespace {

class ScrubLiveTest : public LiveVolumeTest {
 protected:
  Result<ScrubReport> ScrubWhile(std::string_view point, int times) {
    return ReplaceWhile(point, times, [&] { return ScrubVolume(*device_, {}); });
  }
};

TEST_F(ScrubLiveTest, WhatIsReplacedWhileTheLogsAreReadIsNotDamage) {
  ReplaceAll(0);
  const auto report = ScrubWhile("ScrubVolume:reported", 2);
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << report->findings.front().text;
}

TEST_F(ScrubLiveTest, WhatIsReplacedWhileFilesAreReadIsNotDamage) {
  ReplaceAll(0);
  const auto report = ScrubWhile("FileScrub:read", 3);
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << report->findings.front().text;
}

// The error says how many commits may be missing, and the writer makes more.
TEST_F(ScrubLiveTest, ALogThatCantBeReplayedIsAnErrorWhateverEachLookSaysOfIt) {
  BitRot device(*device_);
  for (const ZoneId zone : ZonesOfTheLog(*volume_, *device_))
    device.Flip(device_->geometry().ZoneStart(zone) + (device_->ReportZone(zone)->WrittenBytes() + 64));
  Put("a.sst", "a");
  int commits = 0;
  const During during(*this, [&](std::string_view name) {
    if (name == "ScrubVolume:reported") Put(fmt::format("{}.sst", ++commits), "b");
  });
  const auto report = ScrubVolume(device, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_GT(commits, 1);
  EXPECT_TRUE(std::ranges::any_of(report->findings, [](const Finding& finding) {
    return finding.severity == Severity::kError && finding.text.contains("can't be replayed");
  }));
}

TEST_F(ScrubLiveTest, DamageIsFoundBesideAWriterThatCommitsAllTheTime) {
  Put("sound.sst", std::string(100'000, 'a'));
  Put("damaged.sst", std::string(100'000, 'a'));
  BitRot rot(*device_);
  rot.Flip(volume_->Layout("damaged.sst")->extents.front().place + 5000);
  int round = 0;
  const During during(*this, [&](std::string_view name) {
    if (name != "ScrubVolume:reported" && name != "FileScrub:read") return;
    Put(fmt::format("{}.sst", round % 3), std::string(10'000, 'n'));
    Put(fmt::format("{}.log", round++ % 3), std::string(10'000, 'n'));
  });
  const auto report = ScrubVolume(rot, {});
  ASSERT_TRUE(IsOk(report));
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings.front().paths, std::vector<std::string>{"/damaged.sst"});
}

}  // namespace
}  // namespace zenfs
