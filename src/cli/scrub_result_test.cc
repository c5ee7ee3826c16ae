#include "cli/scrub_result.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

constexpr const char* kUuid = "01234567-89ab-4cde-8f01-23456789abcd";

TEST(ScrubResultTest, TheLastResultOfAVolumeIsRead) {
  const TempDirectory directory;
  const auto none = ReadScrubResult(directory.path(), kUuid);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  for (const ScrubResult result :
       {ScrubResult{.ended = 1764540000, .errors = 3}, ScrubResult{.ended = 1764550000}}) {
    ASSERT_TRUE(WriteScrubResult(directory.path(), kUuid, result).ok());
    const auto read = ReadScrubResult(directory.path(), kUuid);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(*read, result);
  }
}

TEST(ScrubResultTest, AFileThatHoldsNoResultIsNamed) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/" + kUuid + ".json";
  for (const std::string& text :
       {std::string(), std::string("Dear reader"), std::string("{\"ended\": 1}"),
        std::string("{\"ended\": -1, \"errors\": 0}"), std::string("{\"ended\": \"1\", \"errors\": 0}"),
        "{\"ended\": 1, \"errors\": 0, \"more\": \"" + std::string(1000, 'x') + "\"}"}) {
    std::ofstream(path) << text;
    const auto read = ReadScrubResult(directory.path(), kUuid);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code(), Code::kInvalidArgument);
    EXPECT_EQ(read.error().text(), path + " is not the result of a scrub");
  }
}

TEST(ScrubResultTest, ADirectoryThatIsMissingIsAnError) {
  EXPECT_FALSE(ReadScrubResult("/no/such", kUuid).ok());
  EXPECT_FALSE(WriteScrubResult("/no/such", kUuid, {}).ok());
}

}  // namespace
}  // namespace zenfs
