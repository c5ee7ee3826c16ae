// Readers in one process, a writer in another, on an emulated device in a file: no read ever gives a byte that
// is not the file's, whatever the writer does, and the writer never notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "backends/emulator/emulator.h"
#include "base/clock.h"
#include "base/random.h"
#include "live_writer.h"
#include "testing/temp_directory.h"
#include "volume/fsck/check_volume.h"
#include "volume/mkfs.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

std::uint64_t Seed() {
  const char* text = std::getenv("ZENFS_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : RandomSeed();
}

constexpr std::uint64_t kRecordsWanted = 100'000;
#if defined(ZENFS_SANITIZED)  // makes each round slow, and looks at the same code every time
constexpr int kKills = 3;
#else
constexpr int kKills = 8;
#endif

class LiveReaders : public testing::Test {
 protected:
  LiveReaders() : seed_(Seed()), random_(seed_) {
    RecordProperty("seed", std::to_string(seed_));
    const EmulatorGeometry geometry{
        .zones = 48, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
    EXPECT_TRUE(CreateEmulatedFile(path(), geometry, false).ok());
    auto device = OpenEmulatedFile(path(), OpenMode::kExclusive);
    EXPECT_TRUE(device && FormatVolume(**device, {}));
  }
  std::string path() const { return directory_.path() + "/device.img"; }

  std::shared_ptr<Volume> MountReadOnly() {
    auto device = OpenEmulatedFile(path(), OpenMode::kReadOnly);
    EXPECT_TRUE(device);
    auto volume = Volume::Mount(*std::move(device), {.read_only = true});
    EXPECT_TRUE(volume) << volume.error().ToString();
    return volume ? *std::move(volume) : nullptr;
  }

  // Reads from one file, at the front or anywhere, through one handle; false if the writer took it away. With
  // `still`, the writer does not run any more.
  bool ReadOne(Volume& volume, const std::string& name, bool still) {
    SCOPED_TRACE(name + " ZENFS_TEST_SEED=" + std::to_string(seed_));
    const auto file = volume.OpenForRead(name);
    if (!file) return Vanished(file.error(), still);
    std::optional<std::uint64_t> generation;
    const int reads = 1 + static_cast<int>(random_.Below(4));
    for (int i = 0; i < reads; ++i) {
      const std::uint64_t offset =
          random_.OneIn(2) ? 0 : random_.Below((*file)->size() / kRecordBytes + 1) * kRecordBytes;
      std::string bytes((1 + random_.Below(4000)) * kRecordBytes, '\0');
      const auto n = (*file)->Read(offset, std::as_writable_bytes(std::span(bytes)));
      if (!n) return Vanished(n.error(), still);
      bytes.resize(*n);
      Verify(name, bytes, offset, generation);
      if (HasFailure()) return false;
    }
    return true;
  }
  bool Vanished(const Error& error, bool still) {
    EXPECT_EQ(error.code(), Code::kNotFound) << error.ToString();
    EXPECT_FALSE(still) << error.ToString();
    ++vanished_;
    return false;
  }
  void Verify(const std::string& name, const std::string& bytes, std::uint64_t offset,
              std::optional<std::uint64_t>& generation) {
    ASSERT_EQ(bytes.size() % kRecordBytes, 0u) << "a record was seen in part";
    const std::uint64_t slot = SlotOfName(name).value_or(~std::uint64_t{0});
    for (std::uint64_t at = 0; at < bytes.size(); at += kRecordBytes) {
      const std::string record = bytes.substr(at, kRecordBytes);
      const auto tag = ParseLiveTag(record);
      ASSERT_TRUE(tag) << "no record at " << offset + at;
      if (!generation) generation = tag->generation;
      ASSERT_EQ(record, LiveRecord(slot, *generation, offset + at)) << "at " << offset + at;
      ++records_;
    }
  }
  // All files that are there, once.
  void ReadAll(Volume& volume, bool still) {
    const auto list = volume.List("");
    ASSERT_TRUE(list) << list.error().ToString();
    for (const DirectoryEntry& entry : *list) {
      ReadOne(volume, entry.name, still);
      if (HasFailure()) return;
    }
  }
  void ExpectClean() {
    auto device = OpenEmulatedFile(path(), OpenMode::kReadOnly);
    ASSERT_TRUE(device);
    const auto report = CheckVolume(**device, {.read_data = true, .progress = {}});
    ASSERT_TRUE(report) << report.error().ToString();
    for (const Finding& finding : report->findings) {
      EXPECT_NE(finding.severity, Severity::kError) << finding.text;
    }
  }

  const TempDirectory directory_;
  const std::uint64_t seed_;
  Random random_;
  std::uint64_t records_ = 0;
  std::uint64_t vanished_ = 0;
};

TEST_F(LiveReaders, EveryByteReadBesideAWriterIsTheFiles) {
  LiveWriter writer(path(), seed_);
  ASSERT_TRUE(writer.WaitUntilMounted());
  const auto volume = MountReadOnly();
  ASSERT_NE(volume, nullptr);
  const std::uint64_t generation = volume->counters().metalog.generation;
  // As long as it takes on this host to have seen enough.
  const Deadline least = Deadline::After(std::chrono::seconds(4));
  const Deadline most = Deadline::After(std::chrono::seconds(120));
  const auto seen_enough = [&] {
    return records_ > kRecordsWanted && vanished_ > 0 && volume->counters().metalog.generation > generation;
  };
  while (!HasFailure() && !most.Passed() && !(least.Passed() && seen_enough())) {
    ReadAll(*volume, false);
    if (random_.OneIn(10)) {
      EXPECT_NE(volume->Space().total, 0u);
      EXPECT_NE(MountReadOnly(), nullptr);
    }
  }
  EXPECT_TRUE(writer.Stop());
  EXPECT_GT(records_, kRecordsWanted);
  EXPECT_GT(vanished_, 0u);
  EXPECT_GT(volume->counters().metalog.generation, generation) << "the metadata log never switched zones";
  ReadAll(*volume, true);
  ExpectClean();
}

// Flushed bytes included: readers show them from the shared memory, the mount recovers them from there.
TEST_F(LiveReaders, AfterAKillReadersShowWhatTheNextMountRecovers) {
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    std::map<std::string, std::string> shown;
    {
      LiveWriter writer(path(), seed_ + static_cast<std::uint64_t>(round));
      ASSERT_TRUE(writer.WaitUntilMounted());
      const auto volume = MountReadOnly();
      ASSERT_NE(volume, nullptr);
      const std::uint64_t until = records_ + 5'000 + random_.Below(20'000);
      while (records_ < until && !HasFailure()) ReadAll(*volume, false);
      writer.Kill();
      const auto list = volume->List("");
      ASSERT_TRUE(list) << list.error().ToString();
      for (const DirectoryEntry& entry : *list) {
        const auto file = volume->OpenForRead(entry.name);
        ASSERT_TRUE(file) << file.error().ToString();
        std::string bytes(entry.stat.size + 1, '\0');
        const auto n = (*file)->Read(0, std::as_writable_bytes(std::span(bytes)));
        ASSERT_TRUE(n) << n.error().ToString();
        EXPECT_EQ(*n, entry.stat.size) << entry.name;
        bytes.resize(*n);
        shown[entry.name] = bytes;
      }
      EXPECT_TRUE(volume->notices().empty()) << volume->notices().front();
    }
    auto device = OpenEmulatedFile(path(), OpenMode::kExclusive);
    ASSERT_TRUE(device);
    const auto volume = Volume::Mount(*std::move(device), {});
    ASSERT_TRUE(volume) << volume.error().ToString();
    const auto list = (*volume)->List("");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->size(), shown.size());
    for (const DirectoryEntry& entry : *list) {
      std::string bytes(entry.stat.size, '\0');
      const auto file = (*volume)->OpenForRead(entry.name);
      ASSERT_TRUE(file);
      ASSERT_TRUE((*file)->Read(0, std::as_writable_bytes(std::span(bytes))));
      EXPECT_TRUE(shown[entry.name] == bytes) << entry.name << ": " << shown[entry.name].size() << " of "
                                              << bytes.size() << " ZENFS_TEST_SEED=" << seed_;
    }
    EXPECT_TRUE((*volume)->Unmount().ok());
  }
}

TEST_F(LiveReaders, AWriterThatIsKilledLeavesReadersWithWhatIsOnTheDevice) {
  std::shared_ptr<Volume> volume;
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    LiveWriter writer(path(), seed_ + static_cast<std::uint64_t>(round));
    ASSERT_TRUE(writer.WaitUntilMounted()) << "a reader was in the way of round " << round;
    if (volume == nullptr) volume = MountReadOnly();
    ASSERT_NE(volume, nullptr);
    const std::uint64_t until = records_ + 20'000 + random_.Below(40'000);
    while (records_ < until && !HasFailure()) ReadAll(*volume, false);
    writer.Kill();
    ReadAll(*volume, true);
    ExpectClean();
  }
  // The last writer's append buffers must not stay on the host.
  volume.reset();
  LiveWriter last(path(), seed_);
  ASSERT_TRUE(last.WaitUntilMounted());
  EXPECT_TRUE(last.Stop());
}

}  // namespace
}  // namespace zenfs
