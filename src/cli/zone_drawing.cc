#include "cli/zone_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/short_bytes.h"

namespace zenfs {
namespace {

// How all drawings show a zone: its contents, their colours and letters, and the names of states.

// Kinds of parts of a zone. The first kLifetimeCount are live data by lifetime, in the order of
// Lifetime.
enum class ZoneContent : std::uint8_t {
  kNotSet,
  kNone,
  kShort,
  kMedium,
  kLong,
  kExtreme,
  kLog,
  kMetadata,
  kDead,
  kUnwritten,
  kConventional,
  kUnusable,
};
constexpr std::size_t kZoneContentCount = 12;
static_assert(static_cast<std::size_t>(ZoneContent::kLog) == kLifetimeCount);

struct ZoneInk {
  char letter;             // for plain output, for print, and for people who can't tell the colours apart
  std::int8_t colour;      // for terminals
  std::string_view light;  // for SVG, on a light background
  std::string_view dark;   // for SVG, on a dark background
  std::string_view text;   // for SVG, of a letter on either colour; empty: as other text
  std::string_view meaning;
};

// The colours of Okabe and Ito, which colour-blind people can tell apart. Longer lifetimes are darker, also in print; what ZenFS
// writes for itself is blue.
constexpr std::string_view kBlack = "#10151c";
constexpr std::string_view kWhite = "#ffffff";
constexpr std::array<ZoneInk, kZoneContentCount> kInks = {{
    {'o', 7, "#009e73", "#009e73", kWhite, "no lifetime given"},
    {'n', 6, "#cc79a7", "#cc79a7", kBlack, "lifetime none"},
    {'s', 1, "#f0e442", "#f0e442", kBlack, "short"},
    {'m', 3, "#e69f00", "#e69f00", kBlack, "medium"},
    {'l', 2, "#d55e00", "#d55e00", kBlack, "long"},
    {'e', 4, "#6b2100", "#a03c14", kWhite, "extreme"},
    {'W', 14, "#56b4e9", "#56b4e9", kBlack, "log frames"},
    {'M', 5, "#0072b2", "#0072b2", kWhite, "metadata"},
    {'-', 8, "#d3d8de", "#48525f", "", "dead bytes"},
    {'.', 8, "#f4f6f8", "#222a35", "", "not written"},
    {'c', 8, "#737c88", "#737c88", kWhite, "conventional, not used"},
    {'x', 9, "#1c2430", "#e6ebf2", "#ff7b72", "unusable"},
}};

const ZoneInk& InkOf(ZoneContent content) { return kInks[static_cast<std::size_t>(content)]; }

// The kind of the whole zone if ZenFS does not use it, written or not. Nothing for zones in use.
std::optional<ZoneContent> WholeContent(const ZoneStatus& zone) {
  if (zone.phase == ZonePhase::kConventional) return ZoneContent::kConventional;
  if (zone.phase == ZonePhase::kUnusable) return ZoneContent::kUnusable;
  return std::nullopt;
}

// The kind of the live part of `zone`.
ZoneContent LiveContent(const ZoneStatus& zone) {
  if (zone.phase == ZonePhase::kMetadata) return ZoneContent::kMetadata;
  if (zone.phase == ZonePhase::kLog) return ZoneContent::kLog;
  return static_cast<ZoneContent>(
      std::min<std::size_t>(static_cast<std::size_t>(zone.lifetime), kLifetimeCount - 1));
}

// Number of bytes to draw as live.
std::uint64_t LiveBytes(const ZoneStatus& zone) { return std::min(zone.live, zone.written); }

// ' ' for an empty zone.
char PhaseLetter(ZonePhase phase) {
  switch (phase) {
    case ZonePhase::kUnusable: return 'x';
    case ZonePhase::kConventional: return 'C';
    case ZonePhase::kMetadata: return 'M';
    case ZonePhase::kLog: return 'L';
    case ZonePhase::kEmpty: return ' ';
    case ZonePhase::kActive: return 'A';
    case ZonePhase::kFull: return 'F';
    case ZonePhase::kDead: return 'D';
    case ZonePhase::kRetired: return 'R';
  }
  return '?';
}

constexpr std::array kPhasesInOrder = {ZonePhase::kMetadata, ZonePhase::kLog,          ZonePhase::kEmpty,
                                       ZonePhase::kActive,   ZonePhase::kFull,         ZonePhase::kDead,
                                       ZonePhase::kRetired,  ZonePhase::kConventional, ZonePhase::kUnusable};

constexpr std::size_t kBarWidth = 8;

struct Segment {
  ZoneContent content;
  std::size_t width;
};

// The share of `width` characters for `part` of `whole`: none for 0, at least one for more, and all
// only if `part` is `whole`.
std::size_t Share(std::uint64_t part, std::uint64_t whole, std::size_t width) {
  if (part == 0 || whole == 0) return 0;
  if (part >= whole) return width;
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  const auto exact = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  return std::clamp<std::size_t>(exact, 1, width - 1);
}

std::vector<Segment> Segments(const ZoneStatus& zone) {
  if (const auto whole = WholeContent(zone)) return {{*whole, kBarWidth}};
  const std::size_t written = Share(zone.written, zone.capacity, kBarWidth);
  std::size_t live = Share(LiveBytes(zone), zone.capacity, kBarWidth);
  if (live > written) live = written;
  if (LiveBytes(zone) < zone.written && live == written && live > 1) --live;  // keep dead bytes visible
  return {{LiveContent(zone), live},
          {ZoneContent::kDead, written - live},
          {ZoneContent::kUnwritten, kBarWidth - written}};
}

std::string_view GlyphOf(ZoneContent content, bool utf8) {
  if (utf8 && content == ZoneContent::kDead) return "░";
  if (utf8 && content == ZoneContent::kUnwritten) return "·";
  return {&InkOf(content).letter, 1};
}

// `width` characters for `content`.
StyledText Painted(ZoneContent content, std::size_t width, const Terminal& terminal) {
  StyledText out;
  const ZoneInk& ink = InkOf(content);
  if (!terminal.colour) {
    out.Add(std::string(width, ink.letter));
    return out;
  }
  // Live data by letters on a coloured ground: colours alone are not enough for everybody.
  const Style style{.colour = ink.colour, .reversed = content < ZoneContent::kDead};
  for (std::size_t i = 0; i < width; ++i) out.Add(GlyphOf(content, terminal.utf8), style);
  return out;
}

class Artist {
 public:
  Artist(std::span<const ZoneStatus> zones, const Terminal& terminal, std::size_t max_bar_rows)
      : zones_(zones), terminal_(terminal), max_bar_rows_(max_bar_rows) {}

  StyledText Draw() {
    number_width_ = fmt::to_string(zones_.empty() ? 0 : zones_.back().id.value).size();
    const std::size_t cell = number_width_ + kBarWidth + 5;  // "12 F[--------] "
    const std::size_t per_row = std::max<std::size_t>(1, (Columns() + 1) / cell);
    if ((zones_.size() + per_row - 1) / per_row <= max_bar_rows_) {
      DrawBars(per_row);
    } else {
      DrawDense();
    }
    DrawLegend();
    return std::move(out_);
  }

 private:
  std::size_t Columns() const { return static_cast<std::size_t>(terminal_.columns); }

  void Paint(ZoneContent content, std::size_t width) {
    if (width == 0) return;
    used_.insert(content);
    out_.Add(Painted(content, width, terminal_));
  }

  void DrawBars(std::size_t per_row) {
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      const ZoneStatus& zone = zones_[i];
      out_.Add(fmt::format("{:>{}} {}[", zone.id.value, number_width_, PhaseLetter(zone.phase)));
      for (const Segment& segment : Segments(zone)) Paint(segment.content, segment.width);
      const bool ends_row = (i + 1) % per_row == 0 || i + 1 == zones_.size();
      out_.Add(ends_row ? "]\n" : "] ");
    }
    bars_ = true;
  }

  // One character per zone: the letter of its live data, or of its state without live data.
  void DrawDense() {
    const std::size_t per_row = std::max<std::size_t>(1, Columns() - number_width_ - 1);
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      if (i % per_row == 0) out_.Add(fmt::format("{:>{}} ", zones_[i].id.value, number_width_));
      const auto segments = Segments(zones_[i]);
      const auto shown =
          std::find_if(segments.begin(), segments.end(), [](const Segment& s) { return s.width > 0; });
      Paint(shown->content, 1);
      if ((i + 1) % per_row == 0 || i + 1 == zones_.size()) out_.Add("\n");
    }
  }

  // Adds a word to the legend: the prefix, a sample of `content` and the text. Wraps at the
  // terminal's width.
  void AddWord(std::string_view plain_prefix, std::optional<ZoneContent> content, std::string_view text) {
    const std::size_t width = plain_prefix.size() + (content ? 2 : 0) + text.size();
    if (line_width_ > 0 && line_width_ + 3 + width > Columns()) {
      out_.Add("\n");
      line_width_ = 0;
    }
    if (line_width_ > 0) out_.Add("   ");
    line_width_ += width + (line_width_ > 0 ? 3 : 0);
    out_.Add(plain_prefix);
    if (content) {
      Paint(*content, 1);
      out_.Add(" ");
    }
    out_.Add(text);
  }

  void DrawLegend() {
    out_.Add("\n");
    const std::set<ZoneContent> used = used_;
    for (const ZoneContent content : used) AddWord("", content, InkOf(content).meaning);
    out_.Add("\n");
    line_width_ = 0;
    if (bars_) AddPhases();
  }

  void AddPhases() {
    for (const ZonePhase phase : kPhasesInOrder) {
      const auto count = std::count_if(zones_.begin(), zones_.end(),
                                       [phase](const ZoneStatus& zone) { return zone.phase == phase; });
      if (count == 0) continue;
      const char letter = PhaseLetter(phase);
      const std::string prefix = letter == ' ' ? std::string() : std::string{letter, ' '};
      AddWord(prefix, std::nullopt, fmt::format("{}: {}", PhaseName(phase), count));
    }
    out_.Add("\n");
  }

  std::span<const ZoneStatus> zones_;
  const Terminal terminal_;
  const std::size_t max_bar_rows_;
  StyledText out_;
  std::set<ZoneContent> used_;
  std::size_t number_width_ = 1;
  std::size_t line_width_ = 0;
  bool bars_ = false;
};

}  // namespace

StyledText DrawZones(std::span<const ZoneStatus> zones, const Terminal& terminal, std::size_t max_bar_rows) {
  return Artist(zones, terminal, max_bar_rows).Draw();
}

namespace {

std::string_view NameOfGroup(ZoneContent content) {
  switch (content) {
    case ZoneContent::kLog: return "log";
    case ZoneContent::kMetadata: return "metadata";
    case ZoneContent::kConventional: return "conventional";
    case ZoneContent::kUnusable: return "unusable";
    case ZoneContent::kUnwritten: return "empty";
    default: return LifetimeName(static_cast<Lifetime>(content));
  }
}

// Empty zones are those of kUnwritten.
ZoneContent GroupOf(const ZoneStatus& zone) {
  if (const auto whole = WholeContent(zone)) return *whole;
  return zone.phase == ZonePhase::kEmpty ? ZoneContent::kUnwritten : LiveContent(zone);
}

}  // namespace

std::vector<ZoneGroup> GroupZones(std::span<const ZoneStatus> zones, const Terminal& terminal) {
  std::array<ZoneGroup, kZoneContentCount> all;
  for (const ZoneStatus& zone : zones) {
    const ZoneContent content = GroupOf(zone);
    ZoneGroup& group = all[static_cast<std::size_t>(content)];
    ++group.zones;
    if (WholeContent(zone)) continue;
    group.live += LiveBytes(zone);
    group.dead += zone.written - LiveBytes(zone);
    group.unwritten += zone.capacity - std::min(zone.written, zone.capacity);
  }
  std::vector<ZoneGroup> groups;
  const auto add = [&](ZoneContent content) {
    ZoneGroup& group = all[static_cast<std::size_t>(content)];
    if (group.zones == 0) return;
    group.sign = Painted(content, 1, terminal);
    group.name = NameOfGroup(content);
    groups.push_back(std::move(group));
  };
  for (std::size_t i = 0; i < kZoneContentCount; ++i) {
    const auto content = static_cast<ZoneContent>(i);
    if (content != ZoneContent::kUnwritten) add(content);
  }
  add(ZoneContent::kUnwritten);
  return groups;
}

namespace {

constexpr double kMargin = 24;
constexpr double kMinWidth = 560;
constexpr double kHeader = 70;
constexpr double kLegendLine = 24;
constexpr double kStripGap = 2;
constexpr double kStripHeight = 5;
constexpr std::size_t kMaxCells = 2048;  // with more zones, a cell stands for several

// Escapes characters that XML reserves, and replaces bytes that are not UTF-8 by '?'.
std::string XmlText(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; whole && k < length; ++k) whole = (text[i + k] & 0xc0) == 0x80;
    if (!whole || (byte < 0x20 && byte != '\n') || byte == 0x7f || (length == 3 && byte >= 0xed)) {
      out += '?';
      ++i;
      continue;
    }
    switch (text[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

double ShareOf(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.0f} %", 100 * ShareOf(part, whole));
}

// Bytes by content. As an image shows them from the bottom: in the order of ZoneContent.
class ContentBytes {
 public:
  // A zone that ZenFS does not use counts whole, with `usual_capacity` if it has none.
  void Add(const ZoneStatus& zone, std::uint64_t usual_capacity) {
    if (const auto whole = WholeContent(zone)) {
      Of(*whole) += zone.capacity > 0 ? zone.capacity : usual_capacity;
      return;
    }
    Of(LiveContent(zone)) += LiveBytes(zone);
    Of(ZoneContent::kDead) += zone.written - LiveBytes(zone);
    Of(ZoneContent::kUnwritten) += zone.capacity - std::min(zone.written, zone.capacity);
  }

  std::uint64_t& Of(ZoneContent content) { return bytes_[static_cast<std::size_t>(content)]; }

  std::uint64_t total() const { return std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0}); }

  // Calls `visit(content, bytes)` for each content that has bytes.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t i = 0; i < kZoneContentCount; ++i) {
      if (bytes_[i] > 0) visit(static_cast<ZoneContent>(i), bytes_[i]);
    }
  }

 private:
  std::array<std::uint64_t, kZoneContentCount> bytes_{};
};

std::size_t CountOf(std::span<const ZoneStatus> zones, ZonePhase phase) {
  return static_cast<std::size_t>(std::count_if(
      zones.begin(), zones.end(), [phase](const ZoneStatus& zone) { return zone.phase == phase; }));
}

std::string TooltipOf(const ZoneStatus& zone) {
  std::string text = fmt::format("zone {}: {}", zone.id.value, PhaseName(zone.phase));
  if (WholeContent(zone)) return text;
  text += fmt::format("\n{} of {} written ({})", ShortBytes(zone.written), ShortBytes(zone.capacity),
                      Percent(zone.written, zone.capacity));
  if (zone.written == 0 || zone.phase == ZonePhase::kMetadata || zone.phase == ZonePhase::kLog) return text;
  text += fmt::format("\n{} live ({} of what is written)\nlifetime {}", ShortBytes(LiveBytes(zone)),
                      Percent(LiveBytes(zone), zone.written), LifetimeName(zone.lifetime));
  return text;
}

std::string TooltipOf(std::span<const ZoneStatus> zones, const ContentBytes& bytes) {
  std::string text = fmt::format("zones {} to {}", zones.front().id.value, zones.back().id.value);
  for (const ZonePhase phase : kPhasesInOrder) {
    const std::size_t count = CountOf(zones, phase);
    if (count > 0) text += fmt::format("\n{}: {}", PhaseName(phase), Counted(count, "zone"));
  }
  bytes.ForEach([&](ZoneContent content, std::uint64_t part) {
    text +=
        fmt::format("\n{}: {} ({})", InkOf(content).meaning, ShortBytes(part), Percent(part, bytes.total()));
  });
  return text;
}

// `zones` shared out among cells so that there are at most kMaxCells: 1, 2, 5, 10, 20, ... in each.
std::size_t ZonesPerCell(std::size_t zones) {
  for (std::size_t power = 1;; power *= 10) {
    for (const std::size_t digit : {1, 2, 5}) {
      if (zones <= digit * power * kMaxCells) return digit * power;
    }
  }
}

// A cell for each zone, filled from the bottom: live, dead, not written. With many zones a cell has the sums of several; below
// it is a strip with a bar for each of them, to zoom into. All colours are attributes, for renderers that know no style sheets; a
// style changes them on dark pages.
class SvgArtist {
 public:
  SvgArtist(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle)
      : zones_(zones), title_(title), subtitle_(subtitle), per_cell_(ZonesPerCell(zones.size())) {
    cells_ = (zones.size() + per_cell_ - 1) / per_cell_;
    // More cells are smaller; the picture stays about 1.5 times as wide as high.
    tile_ = cells_ <= 256 ? 30 : per_cell_ == 1 ? 16 : 18;
    gap_ = cells_ <= 256 ? 6 : 3;
    columns_ = static_cast<std::size_t>(
        std::ceil(std::sqrt(static_cast<double>(std::max<std::size_t>(1, cells_) * 2))));
    const std::size_t step = per_cell_ == 1 ? 8 : 10;  // so that rows begin with round numbers
    if (columns_ > step) columns_ = (columns_ + step - 1) / step * step;
    rows_ = (cells_ + columns_ - 1) / columns_;
    left_ = kMargin + 8 +
            7 * static_cast<double>(fmt::to_string(zones.empty() ? 0 : zones.back().id.value).size());
    for (const ZoneStatus& zone : zones) usual_capacity_ = std::max(usual_capacity_, zone.capacity);
    for (const ZoneStatus& zone : zones) bytes_.Add(zone, usual_capacity_);
  }

  void Draw(const SvgSink& write) {
    width_ = std::max(kMinWidth, left_ + kMargin + static_cast<double>(columns_) * (tile_ + gap_) - gap_);
    const std::string legend = Legend(kHeader + kMargin + static_cast<double>(rows_) * RowHeight());
    write(fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\" role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
        "Sans',sans-serif\">\n<title>{2}</title>\n{3}{4}"
        "<rect class=\"page\" fill=\"#ffffff\" width=\"100%\" height=\"100%\" rx=\"12\"/>\n"
        "<text class=\"ink\" fill=\"#1c2430\" font-size=\"18\" font-weight=\"600\" x=\"{5}\" "
        "y=\"34\">{2}</text>\n"
        "{6}",
        width_, bottom_ + kMargin, XmlText(title_), Style(), DeadPattern(), kMargin,
        Note(kMargin, 54, XmlText(subtitle_))));
    for (std::size_t cell = 0; cell < cells_; ++cell) write(Cell(cell));
    write(legend + "</svg>\n");
  }

 private:
  double Height() const { return tile_ * 1.25; }

  double RowHeight() const { return Height() + gap_ + (per_cell_ > 1 ? kStripGap + kStripHeight : 0); }

  static std::string Note(double x, double y, std::string_view text, std::string_view more = "") {
    return fmt::format(
        "<text class=\"note\" fill=\"#5b6675\" font-size=\"12\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x,
        y, more, text);
  }

  // Dark pages and the cell under the pointer. CSS without variables, because some renderers have none.
  std::string Style() const {
    std::string dark;
    bytes_.ForEach([&](ZoneContent content, std::uint64_t) {
      dark += fmt::format(".{}{{fill:{}}}", ClassOf(content), InkOf(content).dark);
    });
    return fmt::format(
        "<style>\n.zone:hover .frame{{stroke:#1c2430;stroke-width:2.5}}\n"
        "@media (prefers-color-scheme:dark){{\n"
        ".page{{fill:#141a22}} .ink{{fill:#e6ebf2}} .note{{fill:#9aa7b8}} .frame{{stroke:#5a6675}} "
        ".hatch{{stroke:#8b98a9}}\n"
        ".active{{stroke:#f4f7fb}} .retired,.unusable{{stroke:#ff7b72}} .zone:hover "
        ".frame{{stroke:#ffffff}}\n"
        "{}\n}}\n</style>\n",
        dark);
  }

  // Dead bytes are hatched, so that they differ from any colour in print.
  static std::string DeadPattern() {
    return fmt::format(
        "<defs><pattern id=\"dead\" patternUnits=\"userSpaceOnUse\" width=\"4\" height=\"4\">"
        "<rect {} width=\"4\" height=\"4\"/>"
        "<path class=\"hatch\" d=\"M-1 1l2 -2M0 4l4 -4M3 5l2 -2\" stroke=\"#8a94a1\" stroke-width=\".8\"/>"
        "</pattern></defs>\n",
        PlainFill(ZoneContent::kDead));
  }

  static std::string ClassOf(ZoneContent content) { return fmt::format("c{}", static_cast<int>(content)); }

  static std::string PlainFill(ZoneContent content) {
    return fmt::format("class=\"{}\" fill=\"{}\"", ClassOf(content), InkOf(content).light);
  }

  static std::string Fill(ZoneContent content) {
    return content == ZoneContent::kDead ? "fill=\"url(#dead)\"" : PlainFill(content);
  }

  static std::string Rect(ZoneContent content, double x, double y, double width, double height) {
    if (height <= 0) return {};
    return fmt::format("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.2f}\"/>",
                       Fill(content), x, y, width, height);
  }

  static std::string Letter(char letter, ZoneContent ground, double x, double y, double size) {
    const std::string_view colour = InkOf(ground).text;
    return fmt::format(
        "<text{} font-size=\"{}\" font-weight=\"600\" text-anchor=\"middle\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        colour.empty() ? std::string(" class=\"ink\" fill=\"#1c2430\"") : fmt::format(" fill=\"{}\"", colour),
        size, x, y, letter);
  }

  // Whether the frame and, in large cells, a letter show the phase. The contents show the others.
  static bool HasSign(ZonePhase phase) {
    return phase == ZonePhase::kActive || phase == ZonePhase::kDead || phase == ZonePhase::kRetired ||
           phase == ZonePhase::kUnusable;
  }

  static std::string Frame(ZonePhase phase, double x, double y, double width, double height) {
    std::string_view look = "stroke=\"#9aa5b4\"";
    if (phase == ZonePhase::kActive) look = "stroke=\"#1c2430\" stroke-width=\"2\"";
    if (phase == ZonePhase::kDead) look = "stroke=\"#5b6675\" stroke-width=\"1.5\" stroke-dasharray=\"3 2\"";
    if (phase == ZonePhase::kRetired || phase == ZonePhase::kUnusable)
      look = "stroke=\"#c62828\" stroke-width=\"2\"";
    return fmt::format(
        "<rect class=\"frame {}\" fill=\"none\" {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" "
        "rx=\"{}\"/>",
        PhaseName(phase), look, x, y, width, height, width >= 30 ? 3 : 1);
  }

  std::string Cell(std::size_t cell) const {
    const std::size_t column = cell % columns_;
    const double x = left_ + static_cast<double>(column) * (tile_ + gap_);
    const double y = kHeader + static_cast<double>(cell / columns_) * RowHeight();
    const auto zones =
        zones_.subspan(cell * per_cell_, std::min(per_cell_, zones_.size() - cell * per_cell_));
    ContentBytes bytes;
    for (const ZoneStatus& zone : zones) bytes.Add(zone, usual_capacity_);

    std::string out;
    if (column == 0) {
      out += Note(left_ - 8, y + Height() / 2 + 4, fmt::to_string(zones.front().id.value),
                  " text-anchor=\"end\"");
    }
    out += fmt::format("<g class=\"zone\"><title>{}</title>",
                       XmlText(zones.size() == 1 ? TooltipOf(zones.front()) : TooltipOf(zones, bytes)));
    double bottom = y + Height();
    bool lowest = true;
    bytes.ForEach([&](ZoneContent content, std::uint64_t part) {
      const double height = Height() * ShareOf(part, bytes.total());
      bottom -= height;
      out += Rect(content, x, bottom, tile_, height);
      if (per_cell_ == 1 && lowest && height >= tile_ / 2 && content != ZoneContent::kUnwritten &&
          content != ZoneContent::kDead) {
        out += Letter(InkOf(content).letter, content, x + tile_ / 2, y + Height() - tile_ / 6,
                      tile_ >= 30 ? 11 : 8);
      }
      lowest = false;
    });
    if (per_cell_ > 1)
      return out + Frame(WorstPhase(zones), x, y, tile_, Height()) +
             Strip(zones, x, y + Height() + kStripGap) + "</g>\n";
    const ZoneStatus& zone = zones.front();
    return out + Frame(zone.phase, x, y, tile_, Height()) + PhaseSign(zone, x, y) + "</g>\n";
  }

  std::string PhaseSign(const ZoneStatus& zone, double x, double y) const {
    if (tile_ < 30 || !HasSign(zone.phase) || WholeContent(zone)) return {};
    const double live = Height() * ShareOf(LiveBytes(zone), zone.capacity);
    const ZoneContent ground = live > Height() - 8 ? LiveContent(zone) : ZoneContent::kUnwritten;
    return Letter(PhaseLetter(zone.phase), ground, x + tile_ / 2, y + 12, 10);
  }

  // For the frame of several zones: kFull has the ordinary one.
  static ZonePhase WorstPhase(std::span<const ZoneStatus> zones) {
    for (const ZonePhase phase : {ZonePhase::kUnusable, ZonePhase::kRetired}) {
      if (CountOf(zones, phase) > 0) return phase;
    }
    return ZonePhase::kFull;
  }

  // A bar for each zone. One unit of its own scale is a zone across, and a hundredth of a zone's capacity upwards.
  std::string Strip(std::span<const ZoneStatus> zones, double x, double y) const {
    std::array<std::string, kZoneContentCount> paths;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      ContentBytes bytes;
      bytes.Add(zones[i], usual_capacity_);
      long bottom = 100;
      bytes.ForEach([&](ZoneContent content, std::uint64_t part) {
        if (content == ZoneContent::kUnwritten) return;
        const long height = std::min(bottom, std::max(1L, std::lround(100 * ShareOf(part, bytes.total()))));
        paths[static_cast<std::size_t>(content)] +=
            fmt::format("M{} {}v-{}h1v{}z", i, bottom, height, height);
        bottom -= height;
      });
    }
    std::string out = fmt::format(
        "<g transform=\"translate({:.1f} {:.1f}) scale({:.4f} {:.4f})\"><rect {} width=\"{}\" "
        "height=\"100\"/>",
        x, y, tile_ / static_cast<double>(per_cell_), kStripHeight / 100, PlainFill(ZoneContent::kUnwritten),
        zones.size());
    for (std::size_t i = 0; i < kZoneContentCount; ++i) {
      if (!paths[i].empty())
        out += fmt::format("<path {} d=\"{}\"/>", PlainFill(static_cast<ZoneContent>(i)), paths[i]);
    }
    return out + "</g>";
  }

  // How to read a cell, the contents with their bytes, and the number of zones in each state. Wraps at the width of the picture.
  std::string Legend(double top) {
    double x = kMargin;
    double y = top;
    const std::string_view strip =
        per_cell_ > 1 ? " The strip below it has a bar for each zone: zoom in." : "";
    std::string out =
        Note(x, y,
             fmt::format("A cell is {} of {}, filled from the bottom: live, dead, not written.{}",
                         per_cell_ > 1 ? Counted(per_cell_, "zone") : "a zone", ShortBytes(usual_capacity_),
                         strip));
    y += kLegendLine;
    const auto advance = [&](double width) {
      if (x + width <= width_ - kMargin || x == kMargin) return;
      x = kMargin;
      y += kLegendLine;
    };
    const auto key = [&](std::string_view text) {
      return fmt::format(
          "<text class=\"ink\" fill=\"#1c2430\" font-size=\"12\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y,
          text);
    };
    bytes_.ForEach([&](ZoneContent content, std::uint64_t part) {
      const std::string text = fmt::format("{}: {}", InkOf(content).meaning, ShortBytes(part));
      const double width = 44 + 7 * static_cast<double>(text.size());
      advance(width);
      out += Rect(content, x, y - 12, 16, 16);
      out += fmt::format(
          "<rect class=\"frame\" fill=\"none\" stroke=\"#9aa5b4\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"16\" "
          "height=\"16\"/>",
          x, y - 12);
      if (content != ZoneContent::kDead && content != ZoneContent::kUnwritten)
        out += Letter(InkOf(content).letter, content, x + 8, y, 10);
      x += 22;
      out += key(text);
      x += width - 22;
    });
    x = kMargin;
    y += kLegendLine;
    for (const ZonePhase phase : kPhasesInOrder) {
      const std::size_t count = CountOf(zones_, phase);
      if (count == 0) continue;
      const std::string text = fmt::format("{}: {}", PhaseName(phase), count);
      const double sign = HasSign(phase) ? 22 : 0;
      const double width = sign + 22 + 7 * static_cast<double>(text.size());
      advance(width);
      if (sign > 0) {
        const ZoneContent ground =
            phase == ZonePhase::kUnusable ? ZoneContent::kUnusable : ZoneContent::kUnwritten;
        out += Rect(ground, x, y - 12, 16, 16) + Frame(phase, x, y - 12, 16, 16) +
               Letter(PhaseLetter(phase), ground, x + 8, y, 10);
      }
      x += sign;
      out += key(text);
      x += width - sign;
    }
    bottom_ = y;
    return out;
  }

  const std::span<const ZoneStatus> zones_;
  const std::string_view title_;
  const std::string_view subtitle_;
  const std::size_t per_cell_;
  std::size_t cells_ = 0;
  std::size_t columns_ = 1;
  std::size_t rows_ = 0;
  std::uint64_t usual_capacity_ = 0;  // the largest
  ContentBytes bytes_;                // of all zones
  double tile_ = 0;
  double gap_ = 0;
  double left_ = 0;
  double width_ = 0;
  double bottom_ = 0;
};

}  // namespace

void DrawZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle,
                    const SvgSink& write) {
  SvgArtist(zones, title, subtitle).Draw(write);
}

}  // namespace zenfs
