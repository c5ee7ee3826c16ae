#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/environment.h"
#include "base/short_bytes.h"

namespace zenfs {
namespace {

int ColumnsOf(int fd, bool is_terminal) {
  winsize size{};
  if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view text = EnvironmentVariable("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc() && end == text.data() + text.size() && columns > 0) return columns;
  return 80;
}

bool LocaleIsUtf8() {
  for (const char* name :
       {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first one that is set counts, as in setlocale(3)
    const std::string_view value = EnvironmentVariable(name);
    if (value.empty()) continue;
    return value.ends_with("UTF-8") || value.ends_with("utf8") || value.ends_with("utf-8");
  }
  return false;
}

}  // namespace

Terminal Terminal::Of(int fd) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  terminal.colour = terminal.is_terminal && EnvironmentVariable("NO_COLOR").empty() &&
                    EnvironmentVariable("TERM") != "dumb";
  terminal.utf8 = terminal.is_terminal && LocaleIsUtf8();
  terminal.columns = std::clamp(ColumnsOf(fd, terminal.is_terminal), 40, 1000);
  return terminal;
}

Console::Console(std::FILE* out, std::FILE* err)
    : out_(out),
      err_(err),
      terminal_(Terminal::Of(fileno(out))),
      error_terminal_(Terminal::Of(fileno(err))) {}

void Console::Print(std::string_view text) { Write(PrintableLines(text)); }

void Console::Print(const StyledText& text) { Write(terminal_.colour ? text.WithSequences() : text.plain()); }

bool Console::PrintBytes(std::string_view bytes) {
  Write(bytes);
  return write_errno_ == 0;
}

void Console::Write(std::string_view bytes) {
  EndProgress();
  if (std::fwrite(bytes.data(), 1, bytes.size(), out_) != bytes.size() && write_errno_ == 0)
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
