#include "open/trace_recorder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "testing/lower_file_size_limit.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TraceRecorderTest : public VolumeTest {
 protected:
  TraceRecorderTest() {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    options_.trace_file = path_;
  }
  ~TraceRecorderTest() override { std::filesystem::remove(path_); }

  std::vector<std::string> Lines() const {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The lines after the last one that begins the events of a mount, without their times.
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const std::string& line : Lines()) {
      const std::string event = line.substr(line.find(' ') + 1);
      if (event == "begin") {
        events.clear();
      } else {
        events.push_back(event);
      }
    }
    return events;
  }
  static std::string File(FileId id, std::string_view text) {
    return std::string(text).replace(text.find('#'), 1, std::to_string(id.value));
  }

  const std::string path_ = testing::TempDir() + "zenfs-trace-" + std::to_string(::getpid());
  MountOptions options_;
};

TEST_F(TraceRecorderTest, HeaderIsThatOfTheDevice) {
  Mount(options_);
  ASSERT_FALSE(Lines().empty());
  const Result<TraceDevice> device = ParseTraceHeader(Lines().front());
  ASSERT_TRUE(IsOk(device));
  EXPECT_EQ(device->zones, SmallGeometry().zones);
  EXPECT_EQ(device->zone_capacity, SmallGeometry().zone_capacity);
  EXPECT_EQ(device->max_active, 14u);
}

TEST_F(TraceRecorderTest, RecordsHowAFileComesGrowsAndGoes) {
  Mount(options_);
  auto file = volume_->Create("1.sst", Lifetime::kNotSet);
  ASSERT_TRUE(IsOk(file));
  const FileId id = (*file)->id();
  (*file)->SetLifetime(Lifetime::kLong);
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes(std::string(1 << 20, 'a')))));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes(std::string(5000, 'b')))));
  ASSERT_TRUE(IsOk((*file)->Sync()));
  ASSERT_TRUE(IsOk((*file)->Close()));
  ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_THAT(Events(), ElementsAre(File(id, "create # table not_set"), File(id, "lifetime # long"),
                                    File(id, "size # 1048576"), File(id, "size # 1053576"),
                                    File(id, "close # 1053576"), File(id, "delete #"), "end"));
}

TEST_F(TraceRecorderTest, LogIsNotRecordedForEachSync) {
  Mount(options_);
  auto log = volume_->Create("2.log", Lifetime::kShort);
  ASSERT_TRUE(IsOk(log));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(std::string(100, 'w')))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
  }
  const FileId id = (*log)->id();
  ASSERT_TRUE(IsOk((*log)->Close()));
  EXPECT_THAT(Events(), ElementsAre(File(id, "create # log short"), File(id, "close # 10000")));
}

TEST_F(TraceRecorderTest, FileThatIsReplacedBeforeItsCommitIsDeleted) {
  Mount(options_);
  auto first = volume_->Create("CURRENT", Lifetime::kNotSet);
  ASSERT_TRUE(IsOk(first));
  const FileId id = (*first)->id();
  auto second = volume_->Create("CURRENT", Lifetime::kNotSet);
  ASSERT_TRUE(IsOk(second));
  first->reset();
  EXPECT_THAT(Events(),
              ElementsAre(File(id, "create # other not_set"), File((*second)->id(), "create # other not_set"),
                          File(id, "close # 0"), File(id, "delete #")));
}

TEST_F(TraceRecorderTest, NextMountContinuesTheTraceWithTheFilesThatItFinds) {
  Mount(options_);
  Put("a.blob", std::string(5000, 'a'));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  const std::size_t before = Lines().size();
  std::ofstream(path_, std::ios::app) << "123 si";  // as a crash leaves it
  Mount(options_);
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), before + 4);
  EXPECT_EQ(lines[before], "123 si");
  EXPECT_THAT(lines[before + 1], StartsWith("zenfs-trace 1 "));
  EXPECT_THAT(lines[before + 2], HasSubstr("blob not_set 5000"));
  EXPECT_EQ(lines[before + 3], "0 begin");
}

TEST_F(TraceRecorderTest, AnotherFileIsNotTouched) {
  volume_.reset();
  std::ofstream(path_) << "Dear reader";
  const auto mounted = Volume::Mount(Borrow(*device_), options_);
  EXPECT_EQ(CodeOf(mounted), Code::kExists);
  EXPECT_THAT(mounted.error().ToString(), HasSubstr(path_));
  EXPECT_EQ(std::filesystem::file_size(path_), 11u);
  Mount();
}

TEST_F(TraceRecorderTest, WritesGoOnWhenTheTraceCanNotBeWritten) {
  Mount(options_);
  {
    const LowerFileSizeLimit none(std::filesystem::file_size(path_));
    EXPECT_TRUE(IsOk(PutFile(*volume_, "a.sst", "content")));
  }
  EXPECT_THAT(volume_->notices(), ElementsAre(HasSubstr("the recording ended")));
  EXPECT_THAT(Events(), ElementsAre());
}

}  // namespace
}  // namespace zenfs
