// The output of a verb. Results go to standard output, errors and progress to standard error.
// Escapes text that could steer a terminal (base/printable.h). A name inside a text of several lines
// must still go through Printable, because of line ends.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/printable.h"
#include "base/status.h"
#include "cli/json_text.h"
#include "cli/terminal.h"

namespace zenfs {

class Console {
 public:
  // The caller owns the streams.
  Console(std::FILE* out, std::FILE* err);

  void Print(std::string_view text);  // no line end added
  void PrintJson(const Json& json);   // indented, with a line end
  void PrintError(std::string_view line);
  // The line "VERB: note: TEXT" on standard error.
  void PrintNote(std::string_view verb, std::string_view text);
  // Prints without escaping. Only for text with the command's own terminal sequences and no foreign
  // text.
  void PrintStyled(std::string_view text);

  // Prints one line that overwrites itself; nothing if standard error is not a terminal. `of` 0:
  // unknown.
  void Progress(std::string_view what, std::uint64_t done, std::uint64_t of);
  void EndProgress();

  // Asks on standard error and reads a line from standard input. True if it begins with y or Y.
  [[nodiscard]] bool Ask(std::string_view question);

  // Errors: kIo or kNoSpace if some earlier output did not reach standard output.
  [[nodiscard]] Status Flush();

  const Terminal& terminal() const { return terminal_; }

 private:
  std::FILE* out_;
  std::FILE* err_;
  Terminal terminal_;
  Terminal error_terminal_;
  bool progress_shown_ = false;
  int write_errno_ = 0;
};

// "12 MB" counts binary megabytes, rounded down, as the older command does. For the lines of mkfs
// and df that its users parse; all others use ShortBytes.
[[nodiscard]] constexpr std::uint64_t WholeMegabytes(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace zenfs
