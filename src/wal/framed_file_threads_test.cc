// Framed files used by many threads.
#include <gtest/gtest.h>

#include <atomic>

#include "base/random.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

char ByteAt(std::uint64_t offset) { return static_cast<char>('a' + (offset * 7 + offset / 251) % 26); }

std::string BytesFrom(std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = ByteAt(offset + i);
  return bytes;
}

// Cleans the zone of the oldest frame, as reclaim does, while other threads use the file.
void CleanOldest(WalRig& rig, FramedFile& file, std::atomic<int>& wrong) {
  const std::vector<Piece> pieces = file.Pieces();
  const auto oldest = std::ranges::find_if(pieces, [](const Piece& p) { return p.sequence != 0; });
  if (oldest == pieces.end()) return;
  const CleaningRange range = file.RangeToClean(rig.ZoneOf(oldest->place));
  if (range.to == 0) return;
  AlignedBuffer buffer(range.to - range.from);
  buffer.Resize(range.to - range.from);
  if (file.Read(range.from, buffer.Span()).value_or(0) != buffer.size()) ++wrong;
  buffer.PadTo(kTestBlock);
  ExtentSink sink(*rig.zones);
  SinkCursor cursor;
  std::vector<Extent> extents;
  std::vector<ZonePin> pins;
  std::uint64_t at = range.from;
  for (ByteView rest = buffer.View(); !rest.empty();) {
    auto placed = sink.Write(cursor, Lifetime::kNotSet, {&rest, 1}, ZoneTestRig::Soon());
    if (!placed) return;
    extents.push_back({at, placed->place, std::min(placed->length, range.to - at)});
    pins.push_back(std::move(placed->pin));
    at += extents.back().length;
    rest = rest.subspan(placed->length);
  }
  auto rewrite = file.BeginCleaning(range, extents);
  if (!rewrite) {
    ++wrong;
    return;
  }
  rewrite->End(rig.Commit(rewrite->edits()));
}

// R4 of docs/internals/failures.md.
TEST(FramedFileThreadsTest, ReadersBesideAppendsSyncsAndCleaningsSeeOnlyRightBytes) {
  WalRig rig(TestGeometry(64, 8), 2);
  rig.buffer_bytes = 16 << 10;
  rig.Mount();
  const auto file = rig.NewFile();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<Thread> threads;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    threads.emplace_back("reader", [&, seed] {
      Random random(seed);
      while (!done) {
        const std::uint64_t size = file->size();
        const std::uint64_t offset = random.Below(size + 1);
        std::string text(1 + random.Below(20'000), '?');
        const auto got = file->Read(offset, std::as_writable_bytes(std::span(text)));
        if (!got || *got < std::min<std::uint64_t>(text.size(), size - offset)) ++wrong;
        for (std::size_t i = 0; got && i < *got; ++i) wrong += text[i] != ByteAt(offset + i);
      }
    });
  }
  threads.emplace_back("syncer", [&] {
    while (!done) wrong += !file->Sync().ok();
  });
  threads.emplace_back("cleaner", [&] {
    while (!done) CleanOldest(rig, *file, wrong);
  });
  Random random(9);
  std::uint64_t size = 0;
  while (size < 600'000) {
    const std::string bytes = BytesFrom(size, 1 + random.Below(3000));
    ASSERT_TRUE(file->Append(AsBytes(bytes)).ok());
    size += bytes.size();
    if (random.OneIn(8)) {
      ASSERT_TRUE(file->WriteBack().ok());
    }
  }
  done = true;
  threads.clear();
  EXPECT_EQ(wrong, 0);
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(WalRig::Content(*file), BytesFrom(0, size));
  EXPECT_EQ(rig.Recovered(file->id()), BytesFrom(0, size));
  EXPECT_EQ(rig.zones->Check(), std::vector<std::string>());
}

// A second append begins while the first one waits with most of its bytes still to be copied.
TEST(FramedFileThreadsTest, BytesOfAnAppendLongerThanTheBufferStayTogether) {
  WalRig rig(TestGeometry(16, 16));
  rig.buffer_bytes = 8 << 10;
  rig.Mount();
  const auto file = rig.NewFile();
  std::atomic<int> at_rest = 0;
  const auto rests = [&at_rest] {
    ++at_rest;
    at_rest.notify_all();
  };
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "FramedFile::Append:waits") rests();
  });
  const std::string long_text(40'000, 'a');
  rig.device.Hold(FaultyDevice::Command::kWrite);
  Thread first("first", [&] { EXPECT_TRUE(Append(*file, long_text).ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, WalRig::Soon()));
  Thread second("second", [&] {
    EXPECT_TRUE(Append(*file, "bbb").ok());
    rests();
  });
  at_rest.wait(0);
  rig.device.Release();
  first.Join();
  second.Join();
  EXPECT_TRUE(WalRig::Content(*file) == long_text + "bbb");
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_TRUE(rig.Recovered(file->id()) == long_text + "bbb");
}

// The device takes nothing, so the append that others wait for fails.
TEST(FramedFileThreadsTest, AppendThatWaitedForALongOneFailsWithIt) {
  WalRig rig(TestGeometry(16, 16));
  rig.buffer_bytes = 8 << 10;
  rig.Mount();
  const auto file = rig.NewFile();
  std::atomic<bool> waits = false;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "FramedFile::Append:waits") return;
    waits = true;
    waits.notify_all();
  });
  rig.device.Inject({.command = FaultyDevice::Command::kWrite, .times = FaultyDevice::kForEver});
  rig.device.Hold(FaultyDevice::Command::kWrite);
  Thread first("first", [&] { EXPECT_FALSE(Append(*file, std::string(40'000, 'a')).ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, WalRig::Soon()));
  Thread second("second", [&] { EXPECT_FALSE(Append(*file, "bbb").ok()); });
  waits.wait(false);
  rig.device.Release();
  first.Join();
  second.Join();
}

TEST(FramedFileThreadsTest, ManyThreadsOnManyFilesWithDeletesLoseNothing) {
  WalRig rig(TestGeometry(64, 8), 2);
  rig.buffer_bytes = 16 << 10;
  rig.Mount();
  constexpr int kThreads = 6;
  std::vector<std::vector<std::shared_ptr<FramedFile>>> files(kThreads);
  for (auto& own : files) {
    for (int i = 0; i < 3; ++i) own.push_back(rig.NewFile());
  }
  std::atomic<int> wrong = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("writer", [&, t] {
        Random random(static_cast<std::uint64_t>(t) + 1);
        auto& own = files[static_cast<std::size_t>(t)];
        for (int i = 0; i < 200; ++i) {
          std::shared_ptr<FramedFile>& file = own[random.Below(own.size())];
          const std::uint64_t at = file->size();
          if (at > 40'000) {  // like a WAL that is no longer needed
            wrong += WalRig::Content(*file) != BytesFrom(0, at);
            const FileId old = file->id();
            wrong += !rig.Commit({UnlinkFile{kRootDirectory, std::to_string(old.value)}}).ok();
            file = rig.NewFile();
            continue;
          }
          wrong += !file->Append(AsBytes(BytesFrom(at, 1 + random.Below(4000)))).ok();
          if (random.OneIn(2)) wrong += !file->Sync().ok();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace zenfs
