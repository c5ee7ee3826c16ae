// Random operations on a few framed files, with failing zones and with mounts, compared with a model in
// memory.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

class Work {
 public:
  explicit Work(std::uint64_t seed) : random_(seed), rig_(TestGeometry(64, 4), 2) {
    rig_.buffer_bytes = 8 << 10;
    rig_.Mount();
    for (int i = 0; i < 3; ++i) Create();
  }

  void Step() {
    auto it = files_.begin();
    std::advance(it, static_cast<long>(random_.Below(files_.size())));
    switch (random_.Below(24)) {
      case 0: return Truncate(it->second);
      case 1:
      case 2: return Clean(it->second);
      case 3: return Delete(it->first);
      case 4: return Remount();
      case 5: return Read(it->second);
      case 6:
      case 7: ASSERT_TRUE(it->second.file->Sync().ok()); return;
      case 8:
      case 9: ASSERT_TRUE(it->second.file->WriteBack().ok()); return;
      case 10:
        rig_.device.Inject(
            {.command = FaultyDevice::Command::kWrite,
             .when = random_.OneIn(2) ? FaultyDevice::When::kBefore : FaultyDevice::When::kAfter});
        [[fallthrough]];
      default: return Append(it->second);
    }
  }

  void CheckAll() {
    for (auto& [id, file] : files_) ASSERT_EQ(WalRig::Content(*file.file), file.content);
    ASSERT_EQ(rig_.state().Check(), std::vector<std::string>());
    ASSERT_EQ(rig_.zones->Check(), std::vector<std::string>());
  }

 private:
  struct File {
    std::shared_ptr<FramedFile> file;
    std::string content;
  };

  void Create() {
    auto file = rig_.NewFile();
    const FileId id = file->id();
    files_[id] = {std::move(file), ""};
  }
  void Append(File& file) {
    const std::string text = TestText(1 + random_.Below(random_.OneIn(5) ? 9000 : 700), random_.Next());
    ASSERT_TRUE(file.file->Append(AsBytes(text)).ok());
    file.content += text;
  }
  void Read(const File& file) {
    const std::uint64_t offset = random_.Below(file.content.size() + 1);
    std::string got(random_.Below(9000), '?');
    const auto n = file.file->Read(offset, std::as_writable_bytes(std::span(got)));
    ASSERT_TRUE(n);
    ASSERT_EQ(got.substr(0, *n), file.content.substr(offset, got.size()));
  }
  void Truncate(File& file) {
    const std::uint64_t size =
        file.content.size() - random_.Below(std::min<std::uint64_t>(file.content.size(), 9000) + 1);
    auto rewrite = file.file->BeginTruncate(size);
    ASSERT_TRUE(rewrite);
    rewrite->End(rig_.Commit(rewrite->edits()));
    file.content.resize(size);
    ASSERT_EQ(rig_.Recovered(file.file->id()), file.content);
  }
  // Cleans the zone of a random frame of the file. If a fault hits the copy, nothing changes.
  void Clean(File& file) {
    const std::vector<Piece> pieces = file.file->Pieces();
    if (pieces.empty()) return;
    const CleaningRange range =
        file.file->RangeToClean(rig_.ZoneOf(pieces[random_.Below(pieces.size())].place));
    if (range.to == 0) return;
    std::vector<Extent> extents;
    std::vector<ZonePin> pins;
    SinkCursor cursor;
    ExtentSink sink(*rig_.zones);
    AlignedBuffer buffer(range.to - range.from);
    buffer.Resize(range.to - range.from);
    ASSERT_EQ(file.file->Read(range.from, buffer.Span()).value(), buffer.size());
    buffer.PadTo(kTestBlock);
    std::uint64_t at = range.from;
    for (ByteView rest = buffer.View(); !rest.empty();) {
      auto placed = sink.Write(cursor, Lifetime::kNotSet, {&rest, 1}, ZoneTestRig::Soon());
      ASSERT_TRUE(placed) << placed.error().ToString();
      extents.push_back({at, placed->place, std::min(placed->length, range.to - at)});
      pins.push_back(std::move(placed->pin));
      at += extents.back().length;
      rest = rest.subspan(placed->length);
    }
    auto rewrite = file.file->BeginCleaning(range, extents);
    ASSERT_TRUE(rewrite) << rewrite.error().ToString();
    const bool commit = !random_.OneIn(5);
    if (commit) rewrite->End(rig_.Commit(rewrite->edits()));
    ASSERT_EQ(WalRig::Content(*file.file), file.content);
  }
  void Delete(FileId id) {
    ASSERT_TRUE(rig_.Commit({UnlinkFile{kRootDirectory, std::to_string(id.value)}}).ok());
    files_.erase(id);
    Create();
  }
  // The process dies: bytes that were not written back are gone, all others are there.
  void Remount() {
    rig_.device.ClearFaults();
    std::map<FileId, std::string> written;
    for (auto& [id, file] : files_) {
      const std::vector<Piece> pieces = file.file->Pieces();
      written[id] = file.content.substr(0, pieces.empty() ? 0 : pieces.back().end());
    }
    rig_.log->Stop();
    files_.clear();
    std::map<FileId, ReplayedLog> replayed;
    for (const auto& [id, content] : written) {
      // A frame whose write was reported as failed may be there; other bytes may not.
      ASSERT_EQ(rig_.Recovered(id), content);
      replayed[id] = rig_.Replay(id);
    }
    rig_.Mount(false);
    for (const auto& [id, content] : written)
      files_[id] = {rig_.Reopen(id, std::move(replayed[id])), content};
    ASSERT_TRUE(rig_.log->Start().ok());
  }

  Random random_;
  WalRig rig_;
  std::map<FileId, File> files_;
};

TEST(FramedFileModelTest, RandomWorkKeepsEveryByte) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Work work(seed);
    for (int step = 0; step < 150; ++step) {
      work.Step();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
    work.CheckAll();
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace zenfs
