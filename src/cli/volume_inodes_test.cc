#include "cli/volume_inodes.h"

#include <cerrno>

#include "volume/reader/reader_test_rig.h"

namespace zenfs {
namespace {

class VolumeInodesTest : public ReaderTest {
 protected:
  // Looks a name up, as the kernel does.
  FileId LookUp(FileId directory, const std::string& name) {
    const auto stat = inodes_.Find(directory, name);
    EXPECT_TRUE(IsOk(stat)) << name;
    if (!stat) return kNoFile;
    inodes_.Remember(directory, name, *stat);
    return stat->id;
  }
  std::uint64_t OpenInode(FileId id) {
    const auto open = inodes_.Open(id);
    EXPECT_TRUE(IsOk(open));
    return open ? *open : 0;
  }
  std::string ReadOpen(std::uint64_t open, std::uint64_t offset = 0) {
    std::string text(1 << 20, '\0');
    const auto n = inodes_.Read(open, offset, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(IsOk(n));
    text.resize(n ? *n : 0);
    return text;
  }
  template <typename T>
  static bool IsStale(const Result<T>& result) {
    return !result && result.error().os_errno() == ESTALE;
  }

  VolumeInodes inodes_{*reader_};
};

TEST_F(VolumeInodesTest, AnOpenFileAndItsSuccessorAreTwo) {
  Put("a.sst", "old");
  const FileId old = LookUp(kRootDirectory, "a.sst");
  const std::uint64_t open = OpenInode(old);
  Put("b.sst", "newer");
  ASSERT_TRUE(IsOk(volume_->Rename("b.sst", "a.sst")));
  const FileId successor = LookUp(kRootDirectory, "a.sst");
  EXPECT_NE(successor, old);
  EXPECT_EQ(ReadOpen(OpenInode(successor)), "newer");
  EXPECT_EQ(ReadOpen(open), "old");
  EXPECT_TRUE(IsStale(inodes_.Open(old)));
  const auto stat = inodes_.Stat(old);
  ASSERT_TRUE(IsOk(stat));
  EXPECT_EQ(stat->size, 3u);
  EXPECT_EQ(stat->links, 0u);
  inodes_.Close(open);
  EXPECT_TRUE(IsStale(inodes_.Stat(old)));
}

TEST_F(VolumeInodesTest, ADirectoryThatWasReplacedDoesNotShowTheFilesOfItsSuccessor) {
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
  Put("d/old.sst", "old");
  const FileId directory = LookUp(kRootDirectory, "d");
  ASSERT_TRUE(IsOk(volume_->Rename("d", "e")));
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
  Put("d/new.sst", "new");
  EXPECT_TRUE(IsStale(inodes_.Find(directory, "new.sst")));
  EXPECT_TRUE(IsStale(inodes_.Find(directory, "old.sst")));
  const auto entries = inodes_.List(directory);
  ASSERT_TRUE(IsOk(entries));
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().name, "old.sst");
  EXPECT_EQ(LookUp(kRootDirectory, "e"), directory);
  EXPECT_EQ(ReadOpen(OpenInode(LookUp(directory, "old.sst"))), "old");
}

TEST_F(VolumeInodesTest, AFileIsForgottenAfterTheLastLookUp) {
  Put("a.sst", "x");
  const FileId id = LookUp(kRootDirectory, "a.sst");
  EXPECT_EQ(LookUp(kRootDirectory, "a.sst"), id);
  inodes_.Forget(id, 1);
  EXPECT_TRUE(IsOk(inodes_.Stat(id)));
  inodes_.Forget(id, 1);
  EXPECT_TRUE(IsStale(inodes_.Stat(id)));
}

TEST_F(VolumeInodesTest, DirectoriesThatLookLikeACircleAreStale) {
  const FileStat a{.id = FileId(100), .is_directory = true};
  const FileStat b{.id = FileId(101), .is_directory = true};
  inodes_.Remember(kRootDirectory, "a", a);
  inodes_.Remember(a.id, "b", b);
  inodes_.Remember(b.id, "a", a);
  EXPECT_TRUE(IsStale(inodes_.Find(a.id, "x")));
}

TEST_F(VolumeInodesTest, BytesThatAWriterHasRewrittenSinceTheStartOfAReadAreNoDamage) {
  const std::string front(4096, 'f');
  Put("a.sst", front + std::string(4096, 'b'));
  const std::uint64_t open = OpenInode(LookUp(kRootDirectory, "a.sst"));
  std::string text(4096, '\0');
  const auto first = inodes_.Read(open, 0, std::as_writable_bytes(std::span(text)));
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(TruncateFile(*volume_, "a.sst", 4096)));
  const auto writer = volume_->OpenForAppend("a.sst", false);
  ASSERT_TRUE(IsOk(writer) && IsOk((*writer)->Append(AsBytes(std::string(4096, 'c')))) &&
              IsOk((*writer)->Close()));
  EXPECT_EQ(ReadOpen(open, 4096), std::string(4096, 'c'));
}

}  // namespace
}  // namespace zenfs
