#include "backends/open_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/emulator/emulator.h"
#include "base/clock.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class OpenDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateEmulatedFile(path, {.zones = 4, .zone_size = 65536}, false).ok());
  }
  Result<std::unique_ptr<ZonedDevice>> Open(const std::string& options,
                                            OpenMode mode = OpenMode::kExclusive) {
    return OpenDevice(ParseDeviceUri("zenfs://emu:" + path + "?" + options).value(), mode, &unclaimed);
  }

  TempDirectory directory;
  std::string path = directory.File("a.img");
  DeviceOptions unclaimed;
};

TEST_F(OpenDeviceTest, OpensTheEmulatedDeviceOfThePath) {
  const auto device = Open("");
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ((*device)->name(), "emu:" + path);
  EXPECT_EQ((*device)->geometry().zone_count, 4u);
}

TEST_F(OpenDeviceTest, OptionsOfOthersAreHandedBack) {
  const auto device = Open("aux_path:/tmp,latency_us:1,ro,hostsync");
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_THAT(unclaimed, ElementsAre(Pair("aux_path", "/tmp"), Pair("ro", "")));
}

TEST_F(OpenDeviceTest, LatencyIsThatOfEveryCommand) {
  const auto device = Open("latency_us:3000").value();
  const SteadyTime start = SteadyNow();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(4096, 1).View()).ok());
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_GE(SteadyNow() - start, std::chrono::microseconds(6000));
}

TEST_F(OpenDeviceTest, WriteLatencyIsThatOfWritesAlone) {
  const auto device = Open("latency_us:9000000,write_us:3000").value();
  const SteadyTime start = SteadyNow();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(4096, 1).View()).ok());
  EXPECT_GE(SteadyNow() - start, std::chrono::microseconds(3000));
  EXPECT_LT(SteadyNow() - start, std::chrono::seconds(9));
  EXPECT_THAT(Open("write_us:soon").error().text(), HasSubstr("write_us:soon"));
}

TEST_F(OpenDeviceTest, FlushLatencyIsThatOfFlushesAlone) {
  const auto device = Open("latency_us:9000000,write_us:0,flush_us:3000").value();
  const SteadyTime start = SteadyNow();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(4096, 1).View()).ok());
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_GE(SteadyNow() - start, std::chrono::microseconds(3000));
  EXPECT_LT(SteadyNow() - start, std::chrono::seconds(9));
  EXPECT_THAT(Open("flush_us:soon").error().text(), HasSubstr("flush_us:soon"));
}

TEST_F(OpenDeviceTest, BadValuesAreNamed) {
  for (const char* options : {"latency_us:", "latency_us", "latency_us:10us", "latency_us:-1",
                              "latency_us:99999999999", "latency_us:10000001"}) {
    const auto device = Open(options);
    ASSERT_FALSE(device) << options;
    EXPECT_EQ(device.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(device.error().text(), HasSubstr("latency_us"));
  }
  EXPECT_THAT(Open("hostsync:maybe").error().text(), HasSubstr("hostsync:maybe"));
  EXPECT_TRUE(Open("hostsync:false"));
}

TEST_F(OpenDeviceTest, OptionsOfAllBackendsAreListed) {
  EXPECT_THAT(DeviceOptionForms(), StartsWith("dev: also io:uring|io:plain and commands:0; nvme: also io:"));
  EXPECT_THAT(DeviceOptionForms(), HasSubstr("emu: also timing:NAME, latency_us:N, "));
  EXPECT_THAT(DeviceOptionForms(), EndsWith("warm_cache and hostsync"));
}

TEST_F(OpenDeviceTest, EachOptionBeginsWithItsKeyAndHasAMeaning) {
  for (const OptionText& option : EmulatorOptionTexts()) {
    EXPECT_THAT(std::string(option.form), StartsWith(std::string(option.key)));
    EXPECT_NE(option.meaning, "");
  }
}

TEST_F(OpenDeviceTest, ErrorsOfTheBackendComeThrough) {
  const auto first = Open("");
  EXPECT_EQ(Open("").error().code(), Code::kBusy);
  EXPECT_TRUE(Open("", OpenMode::kReadOnly));
  path += ".not";
  EXPECT_EQ(Open("").error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace zenfs
