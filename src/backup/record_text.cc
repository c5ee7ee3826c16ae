#include "backup/record_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

namespace zenfs {

LineReader LineReader::Of(std::string_view text) {
  return LineReader([text](std::uint64_t offset, ByteSpan into) -> Result<std::size_t> {
    const std::string_view rest = text.substr(std::min<std::uint64_t>(offset, text.size()));
    const std::size_t n = std::min(rest.size(), into.size());
    if (n != 0) std::memcpy(into.data(), rest.data(), n);
    return n;
  });
}

Result<std::optional<LineReader::Line>> LineReader::Next() {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    const std::size_t length = std::min(end, buffer_.size()) - begin_;
    if (length > kMaxLineBytes) {
      return Fail(Code::kCorruption,
                  fmt::format("line {} has more than {} bytes", number_ + 1, kMaxLineBytes));
    }
    if (end != std::string::npos || at_end_) {
      if (end == std::string::npos && length == 0) return std::nullopt;
      const Line line{.text = std::string_view(buffer_).substr(begin_, length),
                      .ended = end != std::string::npos};
      begin_ += length + (line.ended ? 1 : 0);
      ++number_;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    buffer_.resize(searched + kMaxLineBytes);
    const auto n =
        read_(offset_, std::as_writable_bytes(std::span(buffer_).subspan(searched, kMaxLineBytes)));
    buffer_.resize(searched + n.value_or(0));
    if (!n) return Fail(n.error());
    offset_ += *n;
    at_end_ = *n == 0;
  }
}

std::string EncodePathText(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '%') {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> DecodePathText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (text.size() - i < 3) return std::nullopt;
    const char* const digits = text.data() + i + 1;
    const auto parsed = std::from_chars(digits, digits + 2, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace zenfs
