// The text of records, with which others may have done anything: its lines, and the paths in them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace zenfs {

// Reads a text line by line, with memory for the longest line only. A file that claims a huge size,
// or is sparse, needs no more memory than the lines that the caller keeps.
//
// Threads: one.
class LineReader {
 public:
  // A path of 4096 bytes can take three times that in a manifest.
  static constexpr std::size_t kMaxLineBytes = 64 << 10;
  // Reads into.size() bytes at `offset`; fewer only at the end.
  using Reader = std::function<Result<std::size_t>(std::uint64_t offset, ByteSpan into)>;

  struct Line {
    std::string_view text;  // without its line feed; valid until the next call
    bool ended = false;     // false: the last line, without a line feed
  };

  explicit LineReader(Reader read) : read_(std::move(read)) {}
  // Reads the lines of `text`, which must outlive the object.
  static LineReader Of(std::string_view text);

  // Returns nothing at the end. Errors: those of the reader; kCorruption for a line of more than
  // kMaxLineBytes.
  [[nodiscard]] Result<std::optional<Line>> Next();
  // The number of the line returned last; the first is 1.
  std::uint64_t number() const { return number_; }

 private:
  const Reader read_;
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the bytes not returned yet
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
};

// Paths in a record: any bytes, encoded so that every JSON reader returns them unchanged. Control
// characters, '%' and bytes from 0x7f on are %XX, as in a URL (RFC 3986, section 2.1).
[[nodiscard]] std::string EncodePathText(std::string_view path);
// Returns nothing for a '%' without two hexadecimal digits after it.
[[nodiscard]] std::optional<std::string> DecodePathText(std::string_view text);

}  // namespace zenfs
