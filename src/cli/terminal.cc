#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/environment.h"

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

}  // namespace zenfs
