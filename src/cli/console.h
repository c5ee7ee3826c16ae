// Where a verb writes. Results go to standard output, errors and progress to standard error. All text is made harmless for
// a terminal here (cli/printable.h). A name in a text of several lines still goes through Printable, for its line ends.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/status.h"
#include "cli/printable.h"
#include "cli/terminal.h"

namespace zenfs {

class Console {
 public:
  // The streams are the caller's.
  Console(std::FILE* out, std::FILE* err);

  void Print(std::string_view text);  // no line end added
  void PrintJson(const Json& json);   // indented, with a line end
  void PrintError(std::string_view line);
  // As it is: only for text with terminal sequences of the command's own and nothing that others wrote.
  void PrintStyled(std::string_view text);

  // One line that overwrites itself; nothing when standard error is not a terminal. `of` 0: not known.
  void Progress(std::string_view what, std::uint64_t done, std::uint64_t of);
  void EndProgress();

  // Asks on standard error and reads a line from standard input: true for one that begins with y or Y.
  [[nodiscard]] bool Ask(std::string_view question);

  // Errors: kIo or kNoSpace when anything printed so far did not reach standard output.
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

// "12 MB" counts binary megabytes, rounded down, as the older command does: for the lines of mkfs and df that its users
// parse. All others show ShortBytes.
[[nodiscard]] constexpr std::uint64_t WholeMegabytes(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace zenfs
