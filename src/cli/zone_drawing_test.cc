#include "cli/zone_drawing.h"

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

std::size_t Count(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string SvgOf(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle) {
  std::string svg;
  DrawZonesAsSvg(zones, title, subtitle, [&svg](std::string_view part) { svg += part; });
  return svg;
}

TEST(ZonesAsSvg, EachZoneHasATooltip) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kMetadata, 4, 0, Lifetime::kMedium),
                                         Zone(1, ZonePhase::kFull, 8, 2, Lifetime::kMedium),
                                         Zone(2, ZonePhase::kUnusable, 0, 0, Lifetime::kMedium)};
  const std::string svg = SvgOf(zones, "emu:x", "three");
  EXPECT_EQ(Count(svg, "<g class=\"zone\"><title>"), 3u);
  EXPECT_NE(
      svg.find("zone 1: full\n8.0 MiB of 8.0 MiB written (100 %)\n2.0 MiB live (25 % of what is written)\n"
               "lifetime medium"),
      std::string::npos);
  EXPECT_NE(svg.find("zone 2: unusable</title>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(ZonesAsSvg, TheLegendNamesWhatIsDrawn) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8, 8, Lifetime::kMedium)};
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_NE(svg.find(">medium<"), std::string::npos);
  EXPECT_EQ(svg.find(">dead bytes<"), std::string::npos);
  EXPECT_EQ(svg.find(">log frames<"), std::string::npos);
  EXPECT_NE(svg.find(">F full: 1<"), std::string::npos);
}

TEST(ZonesAsSvg, NamesCanNotBreakTheMarkup) {
  const std::string svg = SvgOf({}, "<a&\"b\">\x01\xff\xc3\xa4", "");
  EXPECT_NE(svg.find("&lt;a&amp;&quot;b&quot;&gt;??\xc3\xa4"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(ZonesAsSvg, ManyZonesStayAPicture) {
  std::vector<ZoneStatus> zones;
  for (std::uint32_t i = 0; i < 8192; ++i)
    zones.push_back(Zone(i, ZonePhase::kEmpty, 0, 0, Lifetime::kMedium));
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_EQ(Count(svg, "class=\"zone\""), 8192u);
  EXPECT_LT(svg.size(), std::size_t{3} << 20);
}

}  // namespace
}  // namespace zenfs
