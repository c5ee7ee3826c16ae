#include <sys/stat.h>

#include <fstream>

#include "base/random.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_test_rig.h"
#include "testing/lower_file_size_limit.h"

namespace zenfs {
namespace {

TEST_F(BufferAreaTest, AppendedBytesAreFoundAfterADeath) {
  KeepPlace();
  AppendBuffer buffer = Buffer(12, 100, "first");
  EXPECT_TRUE(buffer.survives_process());
  buffer.Append(AsBytes(" second"), 8);
  Die(std::move(buffer));
  const auto left = OpenOrphanedBuffers(Whose());
  ASSERT_TRUE(left) << left.error().ToString();
  ASSERT_EQ(left->pieces.size(), 1u);
  EXPECT_EQ(left->pieces[0].owner, FileId(12));
  EXPECT_EQ(left->pieces[0].file_offset, 100u);
  EXPECT_EQ(AsText(left->pieces[0].bytes), "first second");
  EXPECT_EQ(left->notice, "");
}

TEST_F(BufferAreaTest, BytesThatWereNotPublishedAreNotFound) {
  KeepPlace();
  AppendBuffer buffer = Buffer(12, 0, "first");
  Result<OrphanedBuffers> left;
  const std::string copy = directory_ + "/" + BufferAreaNamePrefix("copy") + "0123456789abcdef";
  {
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "AppendBuffer::Append:copied") return;
      // The bytes are in the memory now. A copy of the file is what a kill at this point leaves.
      std::filesystem::copy_file(path_(), copy);
    });
    buffer.Append(AsBytes(" second"), 8);
  }
  std::filesystem::permissions(copy,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  WhoseBuffers whose = Whose();
  whose.place = whose.place.substr(0, whose.place.find(' ') + 1) + copy;
  left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left) << left.error().ToString();
  ASSERT_EQ(left->pieces.size(), 1u);
  EXPECT_EQ(AsText(left->pieces[0].bytes), "first");
}

TEST_F(BufferAreaTest, ClearedBytesAreNotFound) {
  KeepPlace();
  AppendBuffer buffer = Buffer(12, 0, "on the device by now");
  buffer.Clear();
  Die(std::move(buffer));
  const auto left = OpenOrphanedBuffers(Whose());
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->pieces.empty());
}

// A file that can't grow stands for a full tmpfs.
TEST_F(BufferAreaTest, ATmpfsThatFillsUpCostsOnlyTheBuffersWithoutPages) {
  area_ = Make(7, 6);
  const std::uint64_t bytes = std::filesystem::file_size(path_()) - 4 * kBufferBytes;  // of six
  AppendBuffer first = Buffer(12, 0, "first");
  AppendBuffer second = Buffer(13, 0, "second");
  ASSERT_TRUE(first.survives_process() && second.survives_process());
  std::filesystem::resize_file(path_(), bytes);
  {
    const LowerFileSizeLimit limit(bytes);
    EXPECT_FALSE(Buffer(14, 0, "third").survives_process());
    AppendBuffer tail;
    EXPECT_FALSE(tail.BeginTail(area_, 15, 0, AsBytes("record")));
  }
  EXPECT_FALSE(Buffer(14, 0, "third").survives_process()) << "no attempt costs time again";
  first.Release();
  EXPECT_TRUE(Buffer(14, 0, "third").survives_process());
}

TEST_F(BufferAreaTest, ABufferTakesMemoryWhenItIsFirstUsed) {
  area_ = Make(7, 6);
  const auto taken = [&] {
    struct stat status{};
    EXPECT_EQ(stat(path_().c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  };
  const std::uint64_t at_first = taken();
  const AppendBuffer first = Buffer(12, 0, "first");
  const AppendBuffer second = Buffer(13, 0, "second");
  EXPECT_EQ(taken(), at_first) << "two have their memory from the start";
  AppendBuffer third = Buffer(14, 0, "third");
  EXPECT_EQ(taken(), at_first + kBufferBytes);
  third.Release();
  const AppendBuffer fourth = Buffer(15, 0, "fourth");
  EXPECT_EQ(taken(), at_first + kBufferBytes);
}

TEST_F(BufferAreaTest, ASlotIsUsedAgainForAnotherFile) {
  KeepPlace();
  for (std::uint64_t owner = 1; owner <= 5; ++owner) {
    AppendBuffer buffer = Buffer(owner, owner * 10, "text");
    EXPECT_TRUE(buffer.survives_process());
    buffer.Release();
  }
  Die(Buffer(9, 90, "last"));
  const auto left = OpenOrphanedBuffers(Whose());
  ASSERT_TRUE(left);
  ASSERT_EQ(left->pieces.size(), 1u);
  EXPECT_EQ(left->pieces[0].owner, FileId(9));
}

TEST_F(BufferAreaTest, ABufferUsesPrivateMemoryUntilASlotIsFree) {
  AppendBuffer first = Buffer(1, 0, "a");
  const AppendBuffer second = Buffer(2, 0, "b");
  AppendBuffer third = Buffer(3, 0, "c");
  EXPECT_FALSE(third.survives_process());
  EXPECT_EQ(AsText(third.payload()), "c");
  first.Release();
  third.Clear();
  third.Begin(area_, kBufferBytes, 3, 1);
  EXPECT_TRUE(third.survives_process());
}

TEST_F(BufferAreaTest, BuffersOfARetiredAreaDoNotSurvive) {
  const AppendBuffer held = Buffer(1, 0, "a");
  EXPECT_TRUE(area_->Retire());
  EXPECT_FALSE(area_->Retire());
  EXPECT_FALSE(held.survives_process());
  EXPECT_FALSE(Buffer(2, 0, "b").survives_process());
}

TEST_F(BufferAreaTest, BuffersOfALivingProcessAreNotTaken) {
  const auto left = OpenOrphanedBuffers(Whose());
  EXPECT_EQ(CodeOf(left), Code::kBusy);
  EXPECT_NE(left.error().text().find(path_()), std::string::npos);
}

TEST_F(BufferAreaTest, ACopyOfTheDeviceOfALivingProcessIsToldWhatToDo) {
  WhoseBuffers copy = Whose();
  copy.identity = "file:1:3";
  const auto left = OpenOrphanedBuffers(copy);
  EXPECT_EQ(CodeOf(left), Code::kBusy);
  EXPECT_NE(left.error().text().find("is a copy"), std::string::npos) << left.error().text();
  EXPECT_NE(left.error().text().find("discard_unsynced"), std::string::npos) << left.error().text();
}

TEST_F(BufferAreaTest, MissingBuffersAreANoticeWithTheirPath) {
  KeepPlace();
  area_.reset();
  std::filesystem::remove(path_());
  const auto left = OpenOrphanedBuffers(Whose());
  ASSERT_TRUE(left);
  EXPECT_NE(left->notice.find(path_()), std::string::npos);
}

TEST_F(BufferAreaTest, BuffersOfAnotherBootAreIgnored) {
  KeepPlace();
  Die(Buffer(1, 0, "a"));
  WhoseBuffers whose = Whose();
  whose.boot = "another";
  const auto left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->pieces.empty());
  EXPECT_EQ(left->notice, "");
}

TEST_F(BufferAreaTest, ACopyOfTheDeviceLeavesTheOriginalsBytesAlone) {
  KeepPlace();
  Die(Buffer(1, 0, "a"));
  WhoseBuffers whose = Whose();
  whose.identity = "file:1:3";
  {
    const auto left = OpenOrphanedBuffers(whose);
    ASSERT_TRUE(left);
    EXPECT_TRUE(left->pieces.empty());
    EXPECT_NE(left->notice, "");
  }
  EXPECT_EQ(OpenOrphanedBuffers(Whose())->pieces.size(), 1u);
}

TEST_F(BufferAreaTest, AnyChangedByteIsRefusedOrHarmless) {
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  const auto size = std::filesystem::file_size(path_());
  std::string good(size, '\0');
  std::ifstream(path_(), std::ios::binary).read(good.data(), static_cast<std::streamsize>(size));
  Random random(20261122);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t at = random.OneIn(2) ? random.Below(400) : random.Below(size);
    Overwrite(at, static_cast<char>(good[at] ^ static_cast<char>(1 + random.Below(255))));
    const auto left = OpenOrphanedBuffers(Whose());
    if (left) {
      if (!left->pieces.empty()) {
        ASSERT_EQ(AsText(left->pieces[0].bytes), "abc") << "byte " << at;
        ASSERT_EQ(left->pieces[0].owner, FileId(1)) << "byte " << at;
      }
    } else {
      ++refused;
      ASSERT_NE(left.error().text().find(path_()), std::string::npos);
      ASSERT_NE(left.error().text().find("discard_unsynced"), std::string::npos);
    }
    Overwrite(at, good[at]);
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(BufferAreaTest, ASlotWithAChangedOwnerOrOffsetIsRefused) {
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  const auto header = ReadBufferAreaHeader(OpenOrphanedBuffers(Whose())->memory.view());
  ASSERT_TRUE(header);
  for (const std::size_t field :
       {offsetof(BufferAreaControl, owner), offsetof(BufferAreaControl, file_offset)}) {
    const char good = field == offsetof(BufferAreaControl, owner) ? 1 : 0;
    Overwrite(header->controls_offset + field, 2);
    EXPECT_EQ(CodeOf(OpenOrphanedBuffers(Whose())), Code::kCorruption) << field;
    Overwrite(header->controls_offset + field, good);
    EXPECT_TRUE(OpenOrphanedBuffers(Whose())) << field;
  }
}

TEST_F(BufferAreaTest, AFileOfAnotherUserOrModeIsRefused) {
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  ASSERT_EQ(chmod(path_().c_str(), 0666), 0);
  EXPECT_EQ(CodeOf(OpenOrphanedBuffers(Whose())), Code::kPermission);
}

TEST_F(BufferAreaTest, AReadOnlyLookReturnsNoPartOfDamagedBuffers) {
  KeepPlace();
  AppendBuffer second = Buffer(9, 0, "whole");
  Die(Buffer(1, 0, "damaged"));
  {
    const AppendBuffer gone = std::move(second);
  }
  const std::string whole = [&] {
    std::ifstream file(path_(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  Overwrite(whole.find("damaged"), 'D');
  const LiveBuffers left = Look(Whose());
  EXPECT_NE(left.problem(), "");
  EXPECT_TRUE(left.damaged());
  EXPECT_TRUE(left.pieces().empty());
}

TEST_F(BufferAreaTest, BuffersOfAnotherMountAreRefused) {
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  WhoseBuffers whose = Whose();
  whose.epoch = 6;
  EXPECT_EQ(CodeOf(OpenOrphanedBuffers(whose)), Code::kCorruption) << "of a later mount";
  whose.epoch = 8;
  whose.key.back() ^= 1;
  EXPECT_EQ(CodeOf(OpenOrphanedBuffers(whose)), Code::kCorruption) << "of an earlier mount, another file";
  whose = Whose();
  whose.volume = Uuid::Generate();
  EXPECT_EQ(CodeOf(OpenOrphanedBuffers(whose)), Code::kCorruption);
}

// A mount that could not take them over left them named.
TEST_F(BufferAreaTest, BuffersOfAnEarlierMountCountIfTheMetadataHasTheirKey) {
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  WhoseBuffers whose = Whose();
  whose.epoch = 9;
  const auto left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left) << left.error().ToString();
  ASSERT_EQ(left->pieces.size(), 1u);
  EXPECT_EQ(left->pieces.front().bytes.size(), 3u);
}

TEST_F(BufferAreaTest, ASweepRemovesOnlyFilesOfThisDevice) {
  const std::string kept = area_->path();
  const std::string stale = Make(8)->path();
  const auto living = Make(9);
  std::ofstream(directory_ + "/other") << "x";
  SweepOrphanedBuffers(directory_, "file:1:2", kept, {});
  EXPECT_TRUE(std::filesystem::exists(kept));
  EXPECT_TRUE(std::filesystem::exists(living->path()));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/other"));
  EXPECT_FALSE(std::filesystem::exists(stale));
}

// The process was killed while it created the file: the place was never committed, so no bytes are
// in it.
TEST_F(BufferAreaTest, ASweepRemovesUnfinishedFiles) {
  const std::string prefix = BufferAreaNamePrefix("file:1:2");
  ASSERT_TRUE(SharedMemory::Create(directory_, prefix + "no-header", 8192, 8192));
  ASSERT_TRUE(SharedMemory::Create(directory_, prefix + "no-size", 8192, 8192));
  std::filesystem::resize_file(directory_ + "/" + prefix + "no-size", 0);
  auto living = SharedMemory::Create(directory_, prefix + "living", 8192, 8192);
  ASSERT_TRUE(living);
  SweepOrphanedBuffers(directory_, "file:1:2", area_->path(), {});
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/" + prefix + "no-header"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/" + prefix + "no-size"));
  EXPECT_TRUE(std::filesystem::exists(living->path()));
}

// A sweep must not remove a file that this program did not make or cannot read.
TEST_F(BufferAreaTest, ASweepKeepsUnknownFiles) {
  const std::string name = BufferAreaNamePrefix("file:1:2") + "unknown";
  {
    auto made = SharedMemory::Create(directory_, name, 8192, 8192);
    ASSERT_TRUE(made);
    made->memory()[0] = std::byte{'?'};
  }
  SweepOrphanedBuffers(directory_, "file:1:2", area_->path(), {});
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/" + name));
}

}  // namespace
}  // namespace zenfs
