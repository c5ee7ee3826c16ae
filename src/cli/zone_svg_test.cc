#include "cli/zone_svg.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs::zone_svg_test {
namespace {

ZoneStatus Zone(std::uint32_t id, ZonePhase phase, std::uint64_t written, std::uint64_t live) {
  ZoneStatus zone;
  zone.id = ZoneId(id);
  zone.phase = phase;
  zone.lifetime = Lifetime::kMedium;
  zone.capacity = 8 << 20;
  zone.written = written;
  zone.live = live;
  return zone;
}

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
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kMetadata, 4 << 20, 0),
                                         Zone(1, ZonePhase::kFull, 8 << 20, 2 << 20),
                                         Zone(2, ZonePhase::kUnusable, 0, 0)};
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
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8 << 20, 8 << 20)};
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
  for (std::uint32_t i = 0; i < 8192; ++i) zones.push_back(Zone(i, ZonePhase::kEmpty, 0, 0));
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_EQ(Count(svg, "class=\"zone\""), 8192u);
  EXPECT_LT(svg.size(), std::size_t{3} << 20);
}

}  // namespace
}  // namespace zenfs::zone_svg_test
