#include "cli/foreign_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "base/clock.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

class ForeignFileTest : public testing::Test {
 protected:
  ForeignFileTest() : fd_(::mkstemp(path_.data())) {}
  ~ForeignFileTest() override {
    ::close(fd_);
    ::unlink(path_.c_str());
  }

  void Write(std::uint64_t offset, std::string_view text) {
    ASSERT_EQ(::pwrite(fd_, text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
  }
  void Resize(std::uint64_t bytes) { ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes)), 0); }

  Result<std::vector<std::string>> Find(std::string_view text, std::uint64_t bytes_max = UINT64_MAX) {
    ZENFS_ASSIGN_OR_RETURN(const ForeignFile file, ForeignFile::Open(path_));
    std::vector<std::string> found;
    ZENFS_ASSIGN_OR_RETURN(const bool ended,
                           file.Search(text, 0, file.size(), bytes_max, [&](std::string_view bytes) {
                             found.emplace_back(bytes.substr(0, text.size() + 1));
                             return false;
                           }));
    EXPECT_FALSE(ended);
    return found;
  }

  std::string path_ = testing::TempDir() + "foreign_file_XXXXXX";
  int fd_;
};

TEST_F(ForeignFileTest, TextIsFoundOnceWhereverItIs) {
  const std::string filling(5 * kPiece, '.');
  Write(0, filling);
  char name = 'a';
  for (std::uint64_t at = kPiece - 80; at < kPiece + 80; at += 16) Write(at, std::string("text") + name++);
  Write(0, "textA");
  Write(filling.size() - 5, "textZ");
  const auto found = Find("text");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 12U);
  EXPECT_EQ(found->front(), "textA");
  EXPECT_EQ(found->at(5), "texte");
  EXPECT_EQ(found->back(), "textZ");
}

TEST_F(ForeignFileTest, HolesCostNothing) {
  Write(0, "text1");
  Write(4000 * kPiece, "text2");
  Resize(2'000'000 * kPiece);
  const auto found = Find("text", 4 * kPiece);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<std::string>{"text1", "text2"}));
}

// A library may have a thousand segments without data.
TEST_F(ForeignFileTest, ASearchOfAHolePreparesNothing) {
  Resize(2 * kPiece);
  const auto file = ForeignFile::Open(path_);
  ASSERT_TRUE(file);
  std::uint64_t bytes_left = 0;
  const SteadyTime begin = SteadyNow();
  for (int i = 0; i < 400'000; ++i) {
    const auto found = file->Search("text", 0, kPiece, bytes_left, [](std::string_view) { return true; });
    ASSERT_TRUE(found && !*found);
  }
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(2));
}

TEST_F(ForeignFileTest, TooMuchDataIsAnError) {
  Write(0, std::string(3 * kPiece, '.'));
  EXPECT_EQ(Find("text", 2 * kPiece).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Find("text", 4 * kPiece));
}

TEST_F(ForeignFileTest, AFileThatIsShortenedEndsTheSearch) {
  Write(0, std::string(3 * kPiece, '.'));
  const auto file = ForeignFile::Open(path_);
  ASSERT_TRUE(file);
  std::uint64_t bytes_left = UINT64_MAX;
  Write(0, "text");
  const auto found = file->Search("text", 0, file->size(), bytes_left, [this](std::string_view) {
    Resize(10);
    return false;
  });
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  char byte = 0;
  EXPECT_EQ(file->ReadAt(2 * kPiece, {&byte, 1}), 0U);
}

TEST_F(ForeignFileTest, OnlyARegularFileIsOpened) {
  EXPECT_EQ(ForeignFile::Open("/dev/null").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(ForeignFile::Open(testing::TempDir()).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(ForeignFile::Open(path_).error().code(), Code::kInvalidArgument);  // is empty
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ForeignFile::Open(path_).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace zenfs
