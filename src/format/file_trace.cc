#include "format/file_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace zenfs {
namespace {

constexpr std::array<std::string_view, 6> kKindWords = {"table", "blob", "log", "manifest", "info", "other"};
constexpr std::array<std::string_view, kLifetimeCount> kLifetimeWords = {"not_set", "none", "short",
                                                                         "medium",  "long", "extreme"};
constexpr std::array<std::string_view, 8> kEventWords = {"file", "begin", "create", "lifetime",
                                                         "size", "close", "delete", "end"};

template <typename Enum, std::size_t N>
std::string_view WordOf(const std::array<std::string_view, N>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

bool HasBytes(TraceEvent::What what) {
  using What = TraceEvent::What;
  return what == What::kFile || what == What::kSize || what == What::kClose;
}

// The words of a line, from the first one to the last one.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line), rest_(line) {}

  Result<std::string_view> Next() {
    if (rest_.empty()) return Damaged("ends too early");
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  template <typename Number>
  Result<Number> NextNumber() {
    ZENFS_ASSIGN_OR_RETURN(const std::string_view word, Next());
    return NumberIn<Number>(word);
  }
  // The number in "NAME=NUMBER".
  template <typename Number>
  Result<Number> NextNumber(std::string_view name) {
    ZENFS_ASSIGN_OR_RETURN(const std::string_view word, Next());
    if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") {
      return Damaged(fmt::format("has \"{}\" in place of {}", word, name));
    }
    return NumberIn<Number>(word.substr(name.size() + 1));
  }
  template <typename Enum, std::size_t N>
  Result<Enum> NextOf(const std::array<std::string_view, N>& words) {
    ZENFS_ASSIGN_OR_RETURN(const std::string_view word, Next());
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) return Damaged(fmt::format("has the unknown word \"{}\"", word));
    return static_cast<Enum>(found - words.begin());
  }
  Status End() const { return rest_.empty() ? Status() : Damaged("is too long"); }

 private:
  std::unexpected<Error> Damaged(std::string_view why) const {
    return Fail(Code::kCorruption, fmt::format("\"{}\" {}", line_.substr(0, 80), why));
  }
  template <typename Number>
  Result<Number> NumberIn(std::string_view word) const {
    Number number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || word.empty()) {
      return Damaged(fmt::format("has \"{}\" in place of a number", word));
    }
    return number;
  }

  const std::string_view line_;
  std::string_view rest_;
};

}  // namespace

TracedKind TracedKindOf(std::string_view file_name) {
  if (file_name.ends_with(".sst") || file_name.ends_with(".ldb")) return TracedKind::kTable;
  if (file_name.ends_with(".blob")) return TracedKind::kBlob;
  if (file_name.ends_with(".log")) return TracedKind::kLog;
  if (file_name.starts_with("MANIFEST-")) return TracedKind::kManifest;
  if (file_name == "LOG" || file_name.starts_with("LOG.")) return TracedKind::kInfoLog;
  return TracedKind::kOther;
}

std::string TraceHeaderText(const TraceDevice& device) {
  return fmt::format(
      "{} {} zone_size={} zone_capacity={} zones={} metadata_zones={} block_size={} max_open={} "
      "max_active={}",
      kTraceMagic, kTraceVersion, device.zone_size, device.zone_capacity, device.zones, device.metadata_zones,
      device.block_size, device.max_open, device.max_active);
}

std::string TraceEventText(const TraceEvent& event) {
  std::string text = fmt::format("{} {}", event.at_ms, WordOf(kEventWords, event.what));
  const auto out = std::back_inserter(text);
  using What = TraceEvent::What;
  if (event.what == What::kBegin || event.what == What::kEnd) return text;
  fmt::format_to(out, " {}", event.id.value);
  if (event.what == What::kFile || event.what == What::kCreate) {
    fmt::format_to(out, " {}", WordOf(kKindWords, event.kind));
  }
  if (event.what == What::kFile || event.what == What::kCreate || event.what == What::kLifetime) {
    fmt::format_to(out, " {}", WordOf(kLifetimeWords, event.lifetime));
  }
  if (HasBytes(event.what)) fmt::format_to(out, " {}", event.bytes);
  return text;
}

Result<TraceDevice> ParseTraceHeader(std::string_view line) {
  Words words(line);
  ZENFS_ASSIGN_OR_RETURN(const std::string_view magic, words.Next());
  if (magic != kTraceMagic) return Fail(Code::kCorruption, "it does not begin as a trace");
  ZENFS_ASSIGN_OR_RETURN(const auto version, words.NextNumber<std::uint32_t>());
  if (version != kTraceVersion) {
    return Fail(
        Code::kNotSupported,
        fmt::format("the trace has version {}, and this program reads version {}", version, kTraceVersion));
  }
  TraceDevice device;
  ZENFS_ASSIGN_OR_RETURN(device.zone_size, words.NextNumber<std::uint64_t>("zone_size"));
  ZENFS_ASSIGN_OR_RETURN(device.zone_capacity, words.NextNumber<std::uint64_t>("zone_capacity"));
  ZENFS_ASSIGN_OR_RETURN(device.zones, words.NextNumber<std::uint32_t>("zones"));
  ZENFS_ASSIGN_OR_RETURN(device.metadata_zones, words.NextNumber<std::uint32_t>("metadata_zones"));
  ZENFS_ASSIGN_OR_RETURN(device.block_size, words.NextNumber<std::uint32_t>("block_size"));
  ZENFS_ASSIGN_OR_RETURN(device.max_open, words.NextNumber<std::uint32_t>("max_open"));
  ZENFS_ASSIGN_OR_RETURN(device.max_active, words.NextNumber<std::uint32_t>("max_active"));
  ZENFS_RETURN_IF_ERROR(words.End());
  return device;
}

Result<TraceEvent> ParseTraceEvent(std::string_view line) {
  using What = TraceEvent::What;
  Words words(line);
  TraceEvent event;
  ZENFS_ASSIGN_OR_RETURN(event.at_ms, words.NextNumber<std::uint64_t>());
  ZENFS_ASSIGN_OR_RETURN(event.what, words.NextOf<What>(kEventWords));
  const bool about_file = event.what != What::kBegin && event.what != What::kEnd;
  const bool names = event.what == What::kFile || event.what == What::kCreate;
  if (about_file) {
    ZENFS_ASSIGN_OR_RETURN(const auto id, words.NextNumber<std::uint64_t>());
    event.id = FileId(id);
  }
  if (names) {
    ZENFS_ASSIGN_OR_RETURN(event.kind, words.NextOf<TracedKind>(kKindWords));
  }
  if (names || event.what == What::kLifetime) {
    ZENFS_ASSIGN_OR_RETURN(event.lifetime, words.NextOf<Lifetime>(kLifetimeWords));
  }
  if (HasBytes(event.what)) {
    ZENFS_ASSIGN_OR_RETURN(event.bytes, words.NextNumber<std::uint64_t>());
  }
  ZENFS_RETURN_IF_ERROR(words.End());
  return event;
}

}  // namespace zenfs
