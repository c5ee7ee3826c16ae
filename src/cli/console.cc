#include "cli/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/short_bytes.h"

namespace zenfs {

Console::Console(std::FILE* out, std::FILE* err)
    : out_(out),
      err_(err),
      terminal_(Terminal::Of(fileno(out))),
      error_terminal_(Terminal::Of(fileno(err))) {}

void Console::Print(std::string_view text) { PrintStyled(PrintableLines(text)); }

void Console::PrintStyled(std::string_view text) {
  EndProgress();
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size() && write_errno_ == 0)
    write_errno_ = errno;
}

void Console::PrintJson(const Json& json) { Print(JsonText(json, 2) + "\n"); }

bool Console::Ask(std::string_view question) {
  EndProgress();
  std::fflush(out_);  // show earlier output before the question
  fmt::print(err_, "{} [y/N] ", Printable(question));
  std::fflush(err_);
  char line[16] = {};
  return std::fgets(line, sizeof line, stdin) != nullptr && (line[0] == 'y' || line[0] == 'Y');
}

void Console::PrintError(std::string_view line) {
  EndProgress();
  const std::string text = Printable(line) + "\n";
  // Ignore errors: nothing is left to report them on.
  (void)std::fwrite(text.data(), 1, text.size(), err_);
}

void Console::PrintNote(std::string_view verb, std::string_view text) {
  PrintError(fmt::format("{}: note: {}", verb, text));
}

void Console::Progress(std::string_view what, std::uint64_t done, std::uint64_t of) {
  if (!error_terminal_.is_terminal) return;
  const std::string line =
      of == 0 ? fmt::format("{}: {}", what, ShortBytes(done))
              : fmt::format("{}: {:3.0f}%", what,
                            100.0 * static_cast<double>(std::min(done, of)) / static_cast<double>(of));
  (void)std::fprintf(err_, "\r%s\033[K", Printable(line).c_str());
  (void)std::fflush(err_);
  progress_shown_ = true;
}

void Console::EndProgress() {
  if (!progress_shown_) return;
  (void)std::fputs("\r\033[K", err_);
  (void)std::fflush(err_);
  progress_shown_ = false;
}

Status Console::Flush() {
  EndProgress();
  if (std::fflush(out_) != 0 && write_errno_ == 0) write_errno_ = errno;
  if (write_errno_ != 0) return FailErrno(write_errno_, "the output could not be written in full");
  return {};
}

}  // namespace zenfs
