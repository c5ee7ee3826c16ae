#include "cli/zone_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

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
  char letter;              // for plain output
  std::string_view colour;  // for terminals, SGR parameters
  std::string_view light;   // for SVG, on a light background
  std::string_view dark;    // for SVG, on a dark background
  std::string_view meaning;
};

constexpr std::array<ZoneInk, kZoneContentCount> kInks = {{
    {'o', "37", "#8390a2", "#94a1b3", "no lifetime given"},
    {'n', "36", "#1f9e9e", "#2fb8b3", "lifetime none"},
    {'s', "31", "#d94f3d", "#ef6a57", "short"},
    {'m', "33", "#e39b2d", "#f0b24c", "medium"},
    {'l', "32", "#3c9a5f", "#55b87a", "long"},
    {'e', "34", "#3b6fd4", "#6a97f0", "extreme"},
    {'W', "96", "#17a8d6", "#3cc3ee", "log frames"},
    {'M', "35", "#8e57c9", "#ad7fe3", "metadata"},
    {'-', "90", "#b9c1cb", "#535f6e", "dead bytes"},
    {'.', "90", "#edf0f4", "#222a35", "not written"},
    {'c', "90", "#d3d9e0", "#3a4452", "conventional, not used"},
    {'x', "91", "#7a1f1f", "#7a2f2f", "unusable"},
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
constexpr std::size_t kMaxBarRows = 48;  // with more zones, each is one character

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

class Artist {
 public:
  Artist(std::span<const ZoneStatus> zones, const Terminal& terminal) : zones_(zones), terminal_(terminal) {}

  std::string Draw() {
    number_width_ = fmt::to_string(zones_.empty() ? 0 : zones_.back().id.value).size();
    const std::size_t cell = number_width_ + kBarWidth + 5;  // "12 F[--------] "
    const std::size_t per_row = std::max<std::size_t>(1, (Columns() + 1) / cell);
    if ((zones_.size() + per_row - 1) / per_row <= kMaxBarRows) {
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
    const ZoneInk& ink = InkOf(content);
    if (!terminal_.colour) {
      out_.append(width, ink.letter);
      return;
    }
    out_ += fmt::format("\033[{}m", ink.colour);
    for (std::size_t i = 0; i < width; ++i) out_ += Glyph(content);
    out_ += "\033[0m";
  }

  std::string_view Glyph(ZoneContent content) const {
    if (!terminal_.utf8 || content == ZoneContent::kUnusable || content == ZoneContent::kConventional)
      return {&InkOf(content).letter, 1};
    if (content == ZoneContent::kDead) return "░";
    return content == ZoneContent::kUnwritten ? "·" : "█";
  }

  void DrawBars(std::size_t per_row) {
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      const ZoneStatus& zone = zones_[i];
      out_ += fmt::format("{:>{}} {}[", zone.id.value, number_width_, PhaseLetter(zone.phase));
      for (const Segment& segment : Segments(zone)) Paint(segment.content, segment.width);
      const bool ends_row = (i + 1) % per_row == 0 || i + 1 == zones_.size();
      out_ += ends_row ? "]\n" : "] ";
    }
    bars_ = true;
  }

  // One character per zone: the letter of its live data, or of its state without live data.
  void DrawDense() {
    const std::size_t per_row = std::max<std::size_t>(1, Columns() - number_width_ - 1);
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      if (i % per_row == 0) out_ += fmt::format("{:>{}} ", zones_[i].id.value, number_width_);
      const auto segments = Segments(zones_[i]);
      const auto shown =
          std::find_if(segments.begin(), segments.end(), [](const Segment& s) { return s.width > 0; });
      Paint(shown->content, 1);
      if ((i + 1) % per_row == 0 || i + 1 == zones_.size()) out_ += "\n";
    }
  }

  // Adds a word to the legend: the prefix, a sample of `content` and the text. Wraps at the
  // terminal's width.
  void AddWord(std::string_view plain_prefix, std::optional<ZoneContent> content, std::string_view text) {
    const std::size_t width = plain_prefix.size() + (content ? 2 : 0) + text.size();
    if (line_width_ > 0 && line_width_ + 3 + width > Columns()) {
      out_ += "\n";
      line_width_ = 0;
    }
    if (line_width_ > 0) out_ += "   ";
    line_width_ += width + (line_width_ > 0 ? 3 : 0);
    out_ += plain_prefix;
    if (content) {
      Paint(*content, 1);
      out_ += " ";
    }
    out_ += text;
  }

  void DrawLegend() {
    out_ += "\n";
    const std::set<ZoneContent> used = used_;
    for (const ZoneContent content : used) AddWord("", content, InkOf(content).meaning);
    out_ += "\n";
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
    out_ += "\n";
  }

  std::span<const ZoneStatus> zones_;
  const Terminal terminal_;
  std::string out_;
  std::set<ZoneContent> used_;
  std::size_t number_width_ = 1;
  std::size_t line_width_ = 0;
  bool bars_ = false;
};

}  // namespace

std::string DrawZones(std::span<const ZoneStatus> zones, const Terminal& terminal) {
  return Artist(zones, terminal).Draw();
}

namespace {

constexpr double kMargin = 24;
constexpr double kMinWidth = 520;
constexpr double kHeader = 58;
constexpr double kLegendLine = 24;

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

std::string Mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

double ShareOf(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

std::string ClassOf(ZoneContent content) { return fmt::format("c{}", static_cast<int>(content)); }

std::string TooltipOf(const ZoneStatus& zone) {
  std::string text = fmt::format("zone {}: {}", zone.id.value, PhaseName(zone.phase));
  if (WholeContent(zone)) return text;
  text += fmt::format("\n{} of {} written ({:.0f} %)", Mebibytes(zone.written), Mebibytes(zone.capacity),
                      100 * ShareOf(zone.written, zone.capacity));
  if (zone.written == 0 || zone.phase == ZonePhase::kMetadata || zone.phase == ZonePhase::kLog) return text;
  text += fmt::format("\n{} live ({:.0f} % of what is written)\nlifetime {}", Mebibytes(LiveBytes(zone)),
                      100 * ShareOf(LiveBytes(zone), zone.written), LifetimeName(zone.lifetime));
  return text;
}

class SvgArtist {
 public:
  SvgArtist(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle)
      : zones_(zones), title_(title), subtitle_(subtitle) {
    // More zones have smaller tiles; the picture stays about 1.5 times as wide as high.
    tile_ = zones.size() <= 256 ? 30 : zones.size() <= 2048 ? 16 : 8;
    gap_ = tile_ >= 30 ? 6 : tile_ >= 16 ? 3 : 2;
    const double count = static_cast<double>(std::max<std::size_t>(1, zones.size()));
    columns_ = static_cast<std::size_t>(std::ceil(std::sqrt(count * 2)));
    if (columns_ > 8) columns_ = (columns_ + 7) / 8 * 8;
    rows_ = (zones.size() + columns_ - 1) / columns_;
    for (const ZoneStatus& zone : zones) NoteUse(zone);
  }

  void Draw(const SvgSink& write) {
    width_ = std::max(kMinWidth, 2 * kMargin + static_cast<double>(columns_) * (tile_ + gap_) - gap_);
    const double legend_top = kHeader + kMargin + static_cast<double>(rows_) * (Height() + gap_);
    const std::string legend = Legend(legend_top);
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\" "
        "role=\"img\">\n<title>{2}</title>\n",
        width_, bottom_ + kMargin, XmlText(title_));
    out += Style();
    out += fmt::format(
        "<rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"12\"/>\n"
        "<text class=\"head\" x=\"{0}\" y=\"34\">{1}</text>\n"
        "<text class=\"note\" x=\"{0}\" y=\"54\">{2}</text>\n",
        kMargin, XmlText(title_), XmlText(subtitle_));
    write(out);
    for (std::size_t i = 0; i < zones_.size(); ++i) write(Tile(i));
    write(legend + "</svg>\n");
  }

 private:
  double Height() const { return tile_ * 1.25; }

  void NoteUse(const ZoneStatus& zone) {
    if (const auto whole = WholeContent(zone)) {
      used_.insert(*whole);
      return;
    }
    const std::uint64_t live = LiveBytes(zone);
    if (live > 0) used_.insert(LiveContent(zone));
    if (live < zone.written) used_.insert(ZoneContent::kDead);
    if (zone.written < zone.capacity) used_.insert(ZoneContent::kUnwritten);
  }

  // CSS without variables, for renderers other than browsers.
  std::string Style() const {
    std::string light;
    std::string dark;
    for (const ZoneContent content : used_) {
      light += fmt::format(".{}{{fill:{}}}", ClassOf(content), InkOf(content).light);
      dark += fmt::format(".{}{{fill:{}}}", ClassOf(content), InkOf(content).dark);
    }
    return fmt::format(
        "<style>\n"
        "text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
        "Sans',sans-serif;fill:#1c2430}}\n"
        ".head{{font-size:18px;font-weight:600}} .note{{font-size:12px;fill:#5b6675}} "
        ".key{{font-size:12px}}\n"
        ".letter{{font-size:10px;font-weight:600;text-anchor:middle;fill:#1c2430;fill-opacity:.75}}\n"
        ".page{{fill:#ffffff}} .frame{{fill:none;stroke:#9aa5b4;stroke-width:1}}\n"
        ".active{{stroke:#1c2430;stroke-width:2}} .retired,.unusable{{stroke:#c62828;stroke-width:2}}\n"
        ".dead{{stroke-dasharray:3 2}} .zone:hover .frame{{stroke:#1c2430;stroke-width:2.5}}\n{}\n"
        "@media (prefers-color-scheme:dark){{\n"
        "text,.letter{{fill:#e6ebf2}} .note{{fill:#9aa7b8}} .page{{fill:#141a22}} .frame{{stroke:#5a6675}}\n"
        ".active{{stroke:#f4f7fb}} .retired,.unusable{{stroke:#ff7b72}} .zone:hover "
        ".frame{{stroke:#ffffff}}\n{}\n"
        "}}\n</style>\n",
        light, dark);
  }

  static std::string Rect(std::string_view classes, double x, double y, double width, double height) {
    if (height <= 0) return {};
    return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       classes, x, y, width, height);
  }

  // From bottom to top: live, dead, unwritten.
  std::string Tile(std::size_t index) const {
    const ZoneStatus& zone = zones_[index];
    const std::size_t column = index % columns_;
    const std::size_t row = index / columns_;
    const double x = kMargin + static_cast<double>(column) * (tile_ + gap_);
    const double y = kHeader + 12 + static_cast<double>(row) * (Height() + gap_);
    std::string out = fmt::format("<g class=\"zone\"><title>{}</title>", XmlText(TooltipOf(zone)));
    if (const auto whole = WholeContent(zone)) {
      out += Rect(ClassOf(*whole), x, y, tile_, Height());
    } else {
      const double written = Height() * ShareOf(zone.written, zone.capacity);
      const double live = Height() * ShareOf(LiveBytes(zone), zone.capacity);
      out += Rect(ClassOf(ZoneContent::kUnwritten), x, y, tile_, Height() - written);
      out += Rect(ClassOf(ZoneContent::kDead), x, y + Height() - written, tile_, written - live);
      out += Rect(ClassOf(LiveContent(zone)), x, y + Height() - live, tile_, live);
    }
    out += fmt::format(
        "<rect class=\"frame {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" rx=\"{}\"/>",
        PhaseName(zone.phase), x, y, tile_, Height(), tile_ >= 30 ? 3 : 1);
    const char letter = PhaseLetter(zone.phase);
    if (tile_ >= 30 && letter != ' ') {
      out += fmt::format("<text class=\"letter\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + tile_ / 2, y + 12,
                         letter);
    }
    return out + "</g>\n";
  }

  // Colours first, then the number of zones in each state. Wraps at the width of the picture.
  std::string Legend(double top) {
    std::string out;
    double x = kMargin;
    double y = top + 8;
    const auto advance = [&](double width) {
      if (x + width <= width_ - kMargin || x == kMargin) return;
      x = kMargin;
      y += kLegendLine;
    };
    for (const ZoneContent content : used_) {
      const std::string_view meaning = InkOf(content).meaning;
      const double width = 40 + 7 * static_cast<double>(meaning.size());
      advance(width);
      out += Rect(ClassOf(content), x, y - 11, 14, 14);
      out += fmt::format(
          "<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\"/>"
          "<text class=\"key\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x, y - 11, x + 20, y, meaning);
      x += width;
    }
    x = kMargin;
    y += kLegendLine;
    for (const ZonePhase phase : kPhasesInOrder) {
      const auto count = std::count_if(zones_.begin(), zones_.end(),
                                       [phase](const ZoneStatus& zone) { return zone.phase == phase; });
      if (count == 0) continue;
      const char letter = PhaseLetter(phase);
      const std::string text = fmt::format(
          "{}{}: {}", letter == ' ' ? std::string() : std::string{letter, ' '}, PhaseName(phase), count);
      const double width = 24 + 7 * static_cast<double>(text.size());
      advance(width);
      out += fmt::format("<text class=\"key\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, text);
      x += width;
    }
    bottom_ = y;
    return out;
  }

  const std::span<const ZoneStatus> zones_;
  const std::string_view title_;
  const std::string_view subtitle_;
  std::set<ZoneContent> used_;
  double tile_ = 0;
  double gap_ = 0;
  double width_ = 0;
  double bottom_ = 0;
  std::size_t columns_ = 1;
  std::size_t rows_ = 0;
};

}  // namespace

void DrawZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle,
                    const SvgSink& write) {
  SvgArtist(zones, title, subtitle).Draw(write);
}

}  // namespace zenfs
