// A volume that is written while another part of the product reads its device.
#pragma once

#include <string>
#include <string_view>

#include "testing/switched_points.h"
#include "volume/volume_test_util.h"

namespace zenfs {

class LiveVolumeTest : protected SwitchedPoints, public VolumeTest {
 protected:
  // Deletes all files and rewrites the zones, so that no extent is where a reader of the device expects it.
  void ReplaceAll(int round) {
    for (const std::string& name : Names("")) ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    for (int i = 0; i < 40; ++i) {
      Put("filler.sst", std::string(700'000, 'f'));
      Put("filler.log", std::string(300'000, 'g'));
    }
    for (int i = 0; i < 5; ++i) {
      Put(std::to_string(round * 10 + i) + ".sst", std::string(900'000, 'a'));
      Put(std::to_string(round * 10 + i) + ".log", std::string(100'000, 'b'));
    }
    Remount();  // seals the logs, so that a missing frame is damage
  }
  // Returns the result of `read`, during which the files are replaced when it passes `point`, at most `times` times.
  auto ReplaceWhile(std::string_view point, int times, auto&& read) {
    int round = 0;
    const During during(*this, [&](std::string_view name) {
      if (name == point && round < times) ReplaceAll(++round);
    });
    return read();
  }
};

}  // namespace zenfs
