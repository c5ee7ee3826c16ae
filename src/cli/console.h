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
#include "cli/json.h"
#include "cli/styled_text.h"

namespace zenfs {

// Properties of an output: whether it is a terminal, its width, and whether to use colour.
struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // never when NO_COLOR is set (https://no-color.org) or TERM is "dumb"
  bool utf8 = false;    // never without a terminal, so that redirected output is the same everywhere
  int columns = 80;     // of the terminal, otherwise from COLUMNS, otherwise 80; 40 to 1000

  // Examines the open file `fd` and the environment.
  static Terminal Of(int fd);
};

class Console {
 public:
  // The caller owns the streams.
  Console(std::FILE* out, std::FILE* err);

  void Print(std::string_view text);  // no line end added
  // The styles are shown on a terminal with colours only.
  void Print(const StyledText& text);
  void PrintJson(const Json& json);  // indented, with a line end
  void PrintError(std::string_view line);
  // The line "VERB: note: TEXT" on standard error.
  void PrintNote(std::string_view verb, std::string_view text);
  // Prints bytes as they are, for a program that reads them. Returns false if this or an earlier output failed.
  bool PrintBytes(std::string_view bytes);

  // Prints one line that overwrites itself; nothing if standard error is not a terminal. `of` 0:
  // unknown.
  void Progress(std::string_view what, std::uint64_t done, std::uint64_t of);
  void EndProgress();

  // Asks on standard error and reads a line from standard input. True if it begins with y or Y.
  [[nodiscard]] bool Ask(std::string_view question);

  // Errors: kIo or kNoSpace if some earlier output did not reach standard output. The errno is EPIPE if its reader has closed it.
  [[nodiscard]] Status Flush();
  bool write_failed() const { return write_errno_ != 0; }  // of some earlier output

  const Terminal& terminal() const { return terminal_; }

 private:
  void Write(std::string_view bytes);  // as they are

  std::FILE* out_;
  std::FILE* err_;
  Terminal terminal_;
  Terminal error_terminal_;
  bool progress_shown_ = false;
  int write_errno_ = 0;
};

}  // namespace zenfs
