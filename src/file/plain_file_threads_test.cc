#include <atomic>

#include "base/random.h"
#include "base/thread.h"
#include "file/plain_file_test_rig.h"

namespace zenfs {
namespace {

char ByteAt(std::uint64_t offset) { return static_cast<char>('a' + (offset * 7 + offset / 251) % 26); }

// R4 of docs/internals/failures.md.
TEST(PlainFileThreadsTest, ReadersBesideAWriterSeeOnlyRightBytes) {
  PlainFileRig rig(64, 32, 8 * kTestBlock);
  constexpr std::uint64_t kTotal = 200 * kTestBlock;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  const auto reader = [&](std::uint64_t seed) {
    Random random(seed);
    std::string text;
    while (!done) {
      const std::uint64_t size = rig.file->size();
      const std::uint64_t offset = random.Below(size + 1);
      text.assign(1 + random.Below(3 * kTestBlock), '?');
      auto got = rig.file->Read(offset, std::as_writable_bytes(std::span(text)));
      // At least the bytes up to the size that was returned before.
      if (!got || *got < std::min<std::uint64_t>(text.size(), size - offset)) ++wrong;
      for (std::size_t i = 0; got && i < *got; ++i) wrong += text[i] != ByteAt(offset + i);
    }
  };
  std::vector<Thread> readers;
  for (std::uint64_t i = 0; i < 3; ++i) readers.emplace_back("reader", [&, i] { reader(i + 1); });
  Random random(9);
  while (rig.file->size() < kTotal) {
    std::string bytes(1 + random.Below(6 * kTestBlock), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = ByteAt(rig.file->size() + i);
    ASSERT_TRUE(rig.file->Append(AsBytes(bytes)).ok());
    if (random.OneIn(4)) {
      ASSERT_TRUE(rig.Sync().ok());
    }
  }
  done = true;
  readers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(PlainFileThreadsTest, AllAppendsBesideSyncsAreCommitted) {
  PlainFileRig rig(64, 32, 4 * kTestBlock);
  std::string expected;
  {
    std::atomic<bool> done{false};
    Thread syncer("syncer", [&] {
      while (!done) ASSERT_TRUE(rig.Sync().ok());
    });
    for (int i = 0; i < 300; ++i) {
      const std::string bytes =
          Pattern(1 + static_cast<std::size_t>(i) * 37 % 5000, static_cast<std::uint64_t>(i));
      expected += bytes;
      EXPECT_TRUE(rig.file->Append(AsBytes(bytes)).ok());
    }
    done = true;
  }
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), expected);
}

}  // namespace
}  // namespace zenfs
