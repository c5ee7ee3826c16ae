// AppendBuffers without a mounted volume.
#include "open/append_buffers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "base/shared_memory.h"
#include "metrics/metrics_page.h"

namespace zenfs {
namespace {

class AppendBuffersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a writable tmpfs";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
  }
  void TearDown() override {
    buffers_.reset();
    std::filesystem::remove_all(directory_);
  }

  // False after an error.
  bool Make(const std::string& directory) {
    auto made = AppendBuffers::Make(
        {.device_name = "crash:1", .identity = "crash:1", .epoch = 7, .buffer_bytes = 64 << 10},
        {.flush_directory = directory, .append_buffers = 2}, metrics_, notices_);
    if (made) buffers_ = *std::move(made);
    return made.ok();
  }
  std::size_t Files() const {
    const std::filesystem::directory_iterator files(directory_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/append-buffers-" + std::to_string(RandomSeed());
  Metrics metrics_;
  std::vector<std::string> notices_;
  std::unique_ptr<AppendBuffers> buffers_;
};

TEST_F(AppendBuffersTest, WithoutBuffersNothingIsNamedAndNothingHasToEnd) {
  ASSERT_TRUE(Make("none"));
  EXPECT_TRUE(notices_.empty());
  EXPECT_EQ(buffers_->path(), "");
  EXPECT_FALSE(buffers_->Name(""));
  const auto forget = buffers_->Name("the place of an earlier mount");
  ASSERT_TRUE(forget);
  EXPECT_EQ(std::get<SetBufferPlace>(*forget).place, "");
  EXPECT_FALSE(buffers_->Retire());
  EXPECT_TRUE(buffers_->Remove().ok());
}

TEST_F(AppendBuffersTest, OneCallerHasToSeeToTheirEnd) {
  ASSERT_TRUE(Make(directory_));
  EXPECT_EQ(buffers_->directory(), directory_);
  EXPECT_TRUE(buffers_->Retire());
  EXPECT_FALSE(buffers_->Retire());
  EXPECT_TRUE(buffers_->Remove().ok());
  EXPECT_EQ(Files(), 0U);
}

TEST_F(AppendBuffersTest, AFailedMountRemovesThemUnlessTheMetadataLogMayNameThem) {
  ASSERT_TRUE(Make(directory_));
  buffers_->Abandon();
  EXPECT_EQ(Files(), 0U);
  ASSERT_TRUE(Make(directory_));
  const auto named = buffers_->Name("");
  ASSERT_TRUE(named);
  EXPECT_NE(std::get<SetBufferPlace>(*named).place.find(directory_), std::string::npos);
  buffers_->Abandon();
  EXPECT_EQ(Files(), 1U);
}

TEST_F(AppendBuffersTest, MetricsAreCountedInTheirMemory) {
  metrics_.Set(Value::kOpenFiles, 5);
  const std::byte* const before = metrics_.page().data();
  ASSERT_TRUE(Make(directory_));
  EXPECT_NE(metrics_.page().data(), before);
  metrics_.MoveHome();
  EXPECT_EQ(metrics_.page().data(), before);
}

TEST_F(AppendBuffersTest, ADirectoryThatWasAskedForAndIsNotThereIsAnError) {
  EXPECT_FALSE(Make(directory_ + "/none"));
}

}  // namespace
}  // namespace zenfs
