// Files whose contents the test remembers, in zones that become worth emptying.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "testing/random_bytes.h"
#include "volume/volume_test_util.h"

namespace zenfs {

class Reclaim : public VolumeTest {
 protected:
  explicit Reclaim(const EmulatorGeometry& geometry = SmallGeometry()) : VolumeTest(geometry) {}

  // Writes a file and remembers its contents.
  testing::AssertionResult Write(const std::string& name, std::size_t bytes, Lifetime lifetime) {
    const std::string content = RandomBytes(bytes, ++seed_);
    auto file = volume_->Create(name, lifetime);
    if (!file) return IsOk(file);
    for (const Status& status : {(*file)->Append(AsBytes(content)), (*file)->Sync(), (*file)->Close()}) {
      if (!status.ok()) return IsOk(status);
    }
    files_[name] = content;
    return testing::AssertionSuccess();
  }
  void Delete(const std::string& name) {
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    files_.erase(name);
  }
  void ExpectAllThere() {
    for (const auto& [name, content] : files_) EXPECT_TRUE(Get(name) == content) << name;
  }
  ZoneId FirstZoneOf(const std::string& name) {
    const auto layout = volume_->Layout(name);
    EXPECT_TRUE(IsOk(layout));
    return device_->geometry().ZoneOf(layout->extents.front().place);
  }
  // Fills zones with files, then deletes every second file.
  void MakeHalfDeadZones(int files = 12) {
    for (int i = 0; i < files; ++i)
      ASSERT_TRUE(Write(fmt::format("{:02}.sst", i), 300'000, Lifetime::kMedium));
    for (int i = 0; i < files; i += 2) Delete(fmt::format("{:02}.sst", i));
  }

  std::uint64_t seed_ = 0;
  std::map<std::string, std::string> files_;
};

}  // namespace zenfs
