#include "cli/zone_picture.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace zenfs {
namespace {

constexpr std::uint64_t kCapacity = 8 << 20;

ZoneStatus Zone(std::uint32_t id, ZonePhase phase, std::uint64_t written_eighths, std::uint64_t live_eighths,
                Lifetime lifetime = Lifetime::kNotSet) {
  ZoneStatus zone;
  zone.id = ZoneId(id);
  zone.phase = phase;
  zone.lifetime = lifetime;
  zone.capacity = kCapacity;
  zone.written = kCapacity / 8 * written_eighths;
  zone.live = kCapacity / 8 * live_eighths;
  return zone;
}

Terminal Plain(int columns) { return Terminal{.columns = columns}; }

std::size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(DrawZones, ShowsFillLiveShareAndLifetime) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kMetadata, 4, 4),
                                         Zone(1, ZonePhase::kLog, 3, 2),
                                         Zone(2, ZonePhase::kFull, 8, 5, Lifetime::kMedium),
                                         Zone(3, ZonePhase::kActive, 3, 3, Lifetime::kShort),
                                         Zone(4, ZonePhase::kEmpty, 0, 0),
                                         Zone(5, ZonePhase::kUnusable, 0, 0),
                                         Zone(6, ZonePhase::kConventional, 0, 0)};
  const std::string picture = DrawZones(zones, Plain(60));
  EXPECT_EQ(picture.substr(0, picture.find("\n\n")),
            "0 M[MMMM....] 1 L[WW-.....] 2 F[mmmmm---] 3 A[sss.....]\n"
            "4  [........] 5 x[xxxxxxxx] 6 C[cccccccc]");
  EXPECT_NE(picture.find("s short"), std::string::npos);
  EXPECT_EQ(picture.find("e extreme"), std::string::npos) << "the legend names only what is drawn";
}

TEST(DrawZones, FitsTheTerminal) {
  std::vector<ZoneStatus> zones;
  for (std::uint32_t i = 0; i < 3000; ++i)
    zones.push_back(Zone(i, static_cast<ZonePhase>(i % 9), i % 9, i % 5));
  for (const std::size_t count : {1u, 64u, 400u, 3000u}) {
    for (const int columns : {40, 80, 133}) {
      const std::string picture = DrawZones(std::span(zones).first(count), Plain(columns));
      EXPECT_LE(LongestLine(picture), static_cast<std::size_t>(columns)) << count << " zones";
    }
  }
}

TEST(DrawZones, ADeadByteIsSeenAndALiveOneToo) {
  ZoneStatus zone = Zone(0, ZonePhase::kFull, 8, 8, Lifetime::kLong);
  zone.live = zone.written - 4096;
  EXPECT_TRUE(DrawZones(std::span(&zone, 1), Plain(80)).starts_with("0 F[lllllll-]"));
  zone.live = 4096;
  EXPECT_TRUE(DrawZones(std::span(&zone, 1), Plain(80)).starts_with("0 F[l-------]"));
}

TEST(DrawZones, PlainOutputHasNoEscapeSequences) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8, 4, Lifetime::kLong)};
  EXPECT_EQ(DrawZones(zones, Plain(80)).find('\033'), std::string::npos);
  const Terminal coloured{.is_terminal = true, .colour = true, .utf8 = true, .columns = 80};
  EXPECT_NE(DrawZones(zones, coloured).find("\033[32m"), std::string::npos);
}

TEST(DrawZones, NoZonesIsNoCrash) { EXPECT_FALSE(DrawZones({}, Plain(80)).empty()); }

}  // namespace
}  // namespace zenfs
