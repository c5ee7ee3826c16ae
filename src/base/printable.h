// Text without effect on a terminal or a log. Names, labels and messages can contain foreign text: from an image or
// a backup that others made. All text that ZenFS hands to a terminal, to RocksDB or to a server goes through here.
// Pure. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace zenfs {

// Returns `text` with \xNN for each byte of a code point that a terminal obeys or hides, and for
// each byte that is not UTF-8: control characters (U+0000-001F, U+007F-009F), line and paragraph
// separators, bidirectional controls and marks, characters without width, tags, annotations,
// noncharacters. Printable(Printable(x)) == Printable(x).
[[nodiscard]] std::string Printable(std::string_view text);
// The same, but keeps line ends and tabs.
[[nodiscard]] std::string PrintableLines(std::string_view text);

// Printable(text) as one word of a command line: in single quotes unless a shell takes it as it is.
[[nodiscard]] std::string ShellWord(std::string_view text);

[[nodiscard]] bool IsUtf8(std::string_view text);

}  // namespace zenfs
