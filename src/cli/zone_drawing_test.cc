#include "cli/zone_drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>
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
  const std::string picture = DrawZones(zones, Plain(60)).plain();
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
      const std::string picture = DrawZones(std::span(zones).first(count), Plain(columns)).plain();
      EXPECT_LE(LongestLine(picture), static_cast<std::size_t>(columns)) << count << " zones";
    }
  }
}

TEST(DrawZones, ADeadByteIsSeenAndALiveOneToo) {
  ZoneStatus zone = Zone(0, ZonePhase::kFull, 8, 8, Lifetime::kLong);
  zone.live = zone.written - 4096;
  EXPECT_TRUE(DrawZones(std::span(&zone, 1), Plain(80)).plain().starts_with("0 F[lllllll-]"));
  zone.live = 4096;
  EXPECT_TRUE(DrawZones(std::span(&zone, 1), Plain(80)).plain().starts_with("0 F[l-------]"));
}

TEST(DrawZones, PlainOutputHasNoEscapeSequences) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8, 4, Lifetime::kLong)};
  EXPECT_EQ(DrawZones(zones, Plain(80)).WithSequences().find('\033'), std::string::npos);
  const Terminal coloured{.is_terminal = true, .colour = true, .utf8 = true, .columns = 80};
  EXPECT_NE(DrawZones(zones, coloured).WithSequences().find("\033[7;32mllll\033[0m"), std::string::npos);
}

TEST(DrawZones, NoZonesIsNoCrash) { EXPECT_FALSE(DrawZones({}, Plain(80)).plain().empty()); }

TEST(GroupZones, CountsZonesAndBytesByTheKindOfTheirLiveData) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8, 5, Lifetime::kMedium),
                                         Zone(1, ZonePhase::kActive, 4, 4, Lifetime::kMedium),
                                         Zone(2, ZonePhase::kLog, 2, 1), Zone(3, ZonePhase::kEmpty, 0, 0),
                                         Zone(4, ZonePhase::kConventional, 0, 0)};
  const std::vector<ZoneGroup> groups = GroupZones(zones, Plain(80));
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].name, "medium");
  EXPECT_EQ(groups[0].sign.plain(), "m");
  EXPECT_EQ(groups[0].zones, 2u);
  EXPECT_EQ(groups[0].live, 9 * kCapacity / 8);
  EXPECT_EQ(groups[0].dead, 3 * kCapacity / 8);
  EXPECT_EQ(groups[0].unwritten, 4 * kCapacity / 8);
  EXPECT_EQ(groups[1].name, "log");
  EXPECT_EQ(groups[2].name, "conventional");
  EXPECT_EQ(groups[3].name, "empty");
  EXPECT_EQ(groups[3].unwritten, kCapacity);
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
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kMetadata, 4, 0, Lifetime::kMedium),
                                         Zone(1, ZonePhase::kFull, 8, 2, Lifetime::kMedium),
                                         Zone(2, ZonePhase::kUnusable, 0, 0, Lifetime::kMedium)};
  const std::string svg = SvgOf(zones, "emu:x", "three");
  EXPECT_EQ(Count(svg, "<g class=\"zone\"><title>"), 3u);
  EXPECT_NE(
      svg.find("zone 1: full\n8.00 MiB of 8.00 MiB written (100 %)\n2.00 MiB live (25 % of what is written)\n"
               "lifetime medium"),
      std::string::npos);
  EXPECT_NE(svg.find("zone 2: unusable</title>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(ZonesAsSvg, TheLegendNamesWhatIsDrawnAndItsBytes) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kFull, 8, 8, Lifetime::kMedium),
                                         Zone(1, ZonePhase::kFull, 8, 4, Lifetime::kMedium)};
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_NE(svg.find(">medium: 12.0 MiB<"), std::string::npos);
  EXPECT_NE(svg.find(">dead bytes: 4.00 MiB<"), std::string::npos);
  EXPECT_EQ(svg.find(">not written"), std::string::npos);
  EXPECT_EQ(svg.find(">log frames"), std::string::npos);
  EXPECT_NE(svg.find(">full: 2<"), std::string::npos);
  EXPECT_NE(svg.find("A cell is a zone of 8.00 MiB"), std::string::npos);
}

TEST(ZonesAsSvg, NamesCanNotBreakTheMarkup) {
  const std::string svg = SvgOf({}, "<a&\"b\">\x01\xff\xc3\xa4", "");
  EXPECT_NE(svg.find("&lt;a&amp;&quot;b&quot;&gt;??\xc3\xa4"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(ZonesAsSvg, ManyZonesShareCells) {
  std::vector<ZoneStatus> zones;
  for (std::uint32_t i = 0; i < 2049; ++i) zones.push_back(Zone(i, ZonePhase::kEmpty, 0, 0));
  zones[1] = Zone(1, ZonePhase::kFull, 8, 2, Lifetime::kLong);
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_EQ(Count(svg, "class=\"zone\""), 1025u);
  EXPECT_NE(svg.find("<title>zones 0 to 1\nempty: 1 zone\nfull: 1 zone\nlong: 2.00 MiB (12 %)\n"
                     "dead bytes: 6.00 MiB (38 %)\nnot written: 8.00 MiB (50 %)</title>"),
            std::string::npos);
  EXPECT_NE(svg.find("zone 2048: empty"), std::string::npos) << "the last cell has one zone";
  EXPECT_NE(svg.find("A cell is 2 zones of 8.00 MiB"), std::string::npos);
}

TEST(ZonesAsSvg, EachOfManyZonesHasABar) {
  std::vector<ZoneStatus> zones;
  for (std::uint32_t i = 0; i < 100'000; ++i)
    zones.push_back(Zone(i, ZonePhase::kFull, 8, 8, Lifetime::kMedium));
  zones[99'999] = Zone(99'999, ZonePhase::kRetired, 8, 8, Lifetime::kMedium);
  const std::string svg = SvgOf(zones, "", "");
  EXPECT_EQ(Count(svg, "class=\"zone\""), 2000u);
  EXPECT_EQ(Count(svg, " 100v-100h1v100z"), 100'000u);
  EXPECT_EQ(Count(svg, "class=\"frame retired\""), 2u) << "the cell and the legend";
  EXPECT_LT(svg.size(), std::size_t{4} << 20);
}

// Lightness and the two colour axes of CIE Lab.
using Lab = std::array<double, 3>;
using Vision = std::array<std::array<double, 3>, 3>;

// What people see who lack one kind of cones, for linear RGB; after Machado, Oliveira and Fernandes (2009).
constexpr std::array<Vision, 4> kVisions = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

// `colour`: "rrggbb".
Lab Seen(const std::string& colour, const Vision& vision) {
  std::array<double, 3> linear{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = std::stoi(colour.substr(2 * i, 2), nullptr, 16) / 255.0;
    linear[i] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  std::array<double, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double sum = vision[i][0] * linear[0] + vision[i][1] * linear[1] + vision[i][2] * linear[2];
    rgb[i] = std::clamp(sum, 0.0, 1.0);
  }
  const auto root = [](double value) {
    return value > 0.008856 ? std::cbrt(value) : 7.787 * value + 16.0 / 116;
  };
  const double x = root((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.9505);
  const double y = root(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = root((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double Distance(const Lab& a, const Lab& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

// Content -> colour, as `pattern` finds both.
std::map<std::string, std::string> ColoursIn(const std::string& svg, const std::string& pattern) {
  const std::regex regex(pattern);
  std::map<std::string, std::string> colours;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), regex); it != std::sregex_iterator(); ++it)
    colours[(*it)[1]] = (*it)[2];
  return colours;
}

TEST(ZonesAsSvg, EverybodyCanTellTheColoursApart) {
  std::vector<ZoneStatus> zones;
  for (std::uint32_t i = 0; i < kLifetimeCount; ++i)
    zones.push_back(Zone(i, ZonePhase::kFull, 6, 4, static_cast<Lifetime>(i)));
  for (const ZonePhase phase :
       {ZonePhase::kMetadata, ZonePhase::kLog, ZonePhase::kConventional, ZonePhase::kUnusable})
    zones.push_back(Zone(static_cast<std::uint32_t>(zones.size()), phase, 4, 2));
  const std::string svg = SvgOf(zones, "", "");
  for (const char* pattern :
       {"class=\"c([0-9]+)\" fill=\"#([0-9a-f]{6})\"", "\\.c([0-9]+)\\{fill:#([0-9a-f]{6})\\}"}) {
    const auto colours = ColoursIn(svg, pattern);
    ASSERT_EQ(colours.size(), 12u) << pattern;
    for (const Vision& vision : kVisions) {
      for (auto one = colours.begin(); one != colours.end(); ++one) {
        for (auto other = std::next(one); other != colours.end(); ++other) {
          EXPECT_GT(Distance(Seen(one->second, vision), Seen(other->second, vision)), 10)
              << one->first << " #" << one->second << ", " << other->first << " #" << other->second
              << ", vision " << &vision - kVisions.data();
        }
      }
    }
  }
}

TEST(ZonesAsSvg, ColoursAreAttributesForRenderersWithoutStyles) {
  const std::vector<ZoneStatus> zones = {Zone(0, ZonePhase::kActive, 6, 4, Lifetime::kMedium)};
  std::string svg = SvgOf(zones, "title", "subtitle");
  const std::size_t style = svg.find("<style>");
  svg.erase(style, svg.find("</style>") - style);
  EXPECT_EQ(svg.find("var("), std::string::npos);
  for (const std::string_view element : {"<rect ", "<text "}) {
    for (std::size_t at = svg.find(element); at != std::string::npos; at = svg.find(element, at + 1)) {
      EXPECT_LT(svg.find(" fill=", at), svg.find('>', at)) << svg.substr(at, 80);
    }
  }
}

}  // namespace
}  // namespace zenfs
