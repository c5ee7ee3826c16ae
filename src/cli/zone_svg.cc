#include "cli/zone_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/zone_look.h"

namespace zenfs {
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
