#include "cli/zone_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cli/zone_look.h"

namespace zenfs {
namespace {

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

}  // namespace zenfs
