#include "cli/screen.h"

#define NCURSES_NOMACROS 1  // functions named erase and move, not macros
#include <curses.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termcap.h>  // term.h has macros named columns and lines
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <exception>
#include <utility>

#include "base/environment.h"

namespace zenfs {
namespace {

constexpr int kEscapeWaitMs = 100;  // for the rest of a key that begins with Escape
constexpr int kMaxColours = 16;
constexpr int kBasicColours = 8;  // a terminal with no more shows the bright ones in bold
constexpr int kQuitKey = 'q';
constexpr int kRedrawKey = 'L' - '@';  // Ctrl-L

// Signals that are events of Wait. Those that the process ignores (nohup) stay ignored.
sigset_t WaitedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&set, signal);
  }
  return set;
}

// ncurses needs the locale to know which bytes are a character. Without UTF-8 there is nothing but ASCII.
void ChooseLocale(bool utf8) {
  if (!utf8) return;
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

attr_t AttributesOf(const Style& style, bool colour) {
  attr_t attributes = (style.bold ? A_BOLD : A_NORMAL) | (style.reversed ? A_REVERSE : A_NORMAL);
  if (!colour || style.colour == Style::kUsualColour) return attributes;
  const bool bright = style.colour >= kBasicColours && COLORS < kMaxColours;
  if (bright) attributes |= A_BOLD;
  return attributes | static_cast<attr_t>(COLOR_PAIR(style.colour - (bright ? kBasicColours : 0) + 1));
}

// The beginning of `text` that fits `columns`; takes the columns that it needs from them. Without UTF-8, '?' for each character that is
// not ASCII.
std::string Cut(std::string_view text, bool utf8, int& columns) {
  std::string out;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    std::size_t bytes = utf8 ? std::mbrtowc(&character, text.data(), text.size(), &state) : 1;
    const bool ascii = static_cast<unsigned char>(text.front()) < 0x80;
    if (bytes == 0 || bytes > text.size() || (!utf8 && !ascii)) {  // Printable leaves UTF-8 only
      const bool continues = (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80;
      text.remove_prefix(1);
      state = {};
      if (continues) continue;
      if (columns < 1) return out;
      out += '?';
      --columns;
      continue;
    }
    const int width = utf8 ? std::max(0, ::wcwidth(character)) : 1;
    if (width > columns) {
      columns = 0;
      return out;
    }
    out += text.substr(0, bytes);
    columns -= width;
    text.remove_prefix(bytes);
  }
  return out;
}

std::terminate_handler usual_end = nullptr;

[[noreturn]] void RestoreAndEnd() {
  ::endwin();
  usual_end();
  std::abort();
}

}  // namespace

Status Screen::Available() {
  for (const auto& [fd, name] : {std::pair(STDOUT_FILENO, "output"), std::pair(STDIN_FILENO, "input")}) {
    if (::isatty(fd) != 1) {
      return Fail(Code::kNotSupported, fmt::format("standard {} is not a terminal", name));
    }
  }
  const std::string term(EnvironmentVariable("TERM"));
  if (term.empty()) return Fail(Code::kNotSupported, "TERM does not name the terminal");
  if (::tgetent(nullptr, term.c_str()) != 1) {
    return Fail(Code::kNotSupported, fmt::format("this host does not know the terminal '{}' of TERM", term));
  }
  if (::tgetstr("cm", nullptr) == nullptr) {
    return Fail(Code::kNotSupported, fmt::format("the terminal '{}' of TERM has no full screen", term));
  }
  return {};
}

Result<std::unique_ptr<Screen>> Screen::Open() {
  ZENFS_RETURN_IF_ERROR(Available());
  std::unique_ptr<Screen> screen(new Screen());
  const sigset_t signals = WaitedSignals();
  screen->signals_ = UniqueFd::Opened([&] { return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK); });
  if (screen->signals_.get() < 0) return FailErrno(errno, "the screen can't receive signals");
  screen->terminal_ = Terminal::Of(STDOUT_FILENO);
  ChooseLocale(screen->terminal_.utf8);
  ::pthread_sigmask(SIG_BLOCK, &signals, &screen->mask_before_);
  // Not LINES and COLUMNS, which say nothing of a terminal that changes its size.
  ::use_env(FALSE);
  ::use_tioctl(TRUE);
  screen->screen_ = ::newterm(nullptr, stdout, stdin);
  if (screen->screen_ == nullptr) {
    ::pthread_sigmask(SIG_SETMASK, &screen->mask_before_, nullptr);
    return Fail(Code::kNotSupported, "the terminal can't be prepared for a full screen");
  }
  usual_end = std::set_terminate(RestoreAndEnd);
  ::set_escdelay(kEscapeWaitMs);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::leaveok(stdscr, TRUE);
  if (screen->terminal_.colour) {
    screen->terminal_.colour = ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK;
  }
  if (screen->terminal_.colour) {
    const int colours = std::min(COLORS, kMaxColours);
    for (int colour = 0; colour < colours; ++colour) {
      ::init_pair(static_cast<short>(colour + 1), static_cast<short>(colour), -1);
    }
  }
  screen->TakeSize();
  return screen;
}

Screen::~Screen() {
  if (screen_ == nullptr) return;
  ::endwin();
  ::delscreen(screen_);
  std::set_terminate(usual_end);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

int Screen::rows() const { return std::max(0, LINES - 1); }

void Screen::TakeSize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    ::resizeterm(size.ws_row, size.ws_col);
  }
  ::clearok(stdscr, TRUE);  // terminals move their text when their size changes
  terminal_.columns = COLS;
}

void Screen::Show(const StyledText& text, std::string_view keys) {
  lines_ = text.Lines();
  keys_ = keys;
  Draw();
}

void Screen::DrawLine(int row, const StyledText& line) {
  ::wmove(stdscr, row, 0);
  int columns = COLS;
  std::size_t begin = 0;
  for (const StyledText::Run& run : line.runs()) {
    const std::string part =
        Cut(std::string_view(line.plain()).substr(begin, run.end - begin), terminal_.utf8, columns);
    ::wattrset(stdscr, static_cast<int>(AttributesOf(run.style, terminal_.colour)));
    ::waddnstr(stdscr, part.data(), static_cast<int>(part.size()));
    begin = run.end;
  }
  ::wattrset(stdscr, A_NORMAL);
}

void Screen::Draw() {
  const auto room = static_cast<std::size_t>(rows());
  first_line_ = std::min(first_line_, lines_.size() - std::min(lines_.size(), room));
  ::werase(stdscr);
  const std::size_t end = std::min(lines_.size(), first_line_ + room);
  for (std::size_t i = first_line_; i < end; ++i) {
    DrawLine(static_cast<int>(i - first_line_), lines_[i]);
  }
  std::string keys = "q quit";
  if (lines_.size() > room) {
    keys += fmt::format("  Up/Down {}-{}/{}", first_line_ + 1, end, lines_.size());
  }
  if (!keys_.empty()) keys += "  " + keys_;
  keys.resize(std::max(keys.size(), static_cast<std::size_t>(COLS)), ' ');
  StyledText last;
  last.Add(keys, {.reversed = true});
  DrawLine(LINES - 1, last);
  ::wrefresh(stdscr);
}

void Screen::ScrollTo(std::ptrdiff_t line) {
  first_line_ = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, line));
  Draw();
}

bool Screen::Scrolls(int key) {
  const auto at = static_cast<std::ptrdiff_t>(first_line_);
  const std::ptrdiff_t page = std::max(1, rows() - 1);
  switch (key) {
    case KEY_UP: ScrollTo(at - 1); return true;
    case KEY_DOWN: ScrollTo(at + 1); return true;
    case KEY_PPAGE: ScrollTo(at - page); return true;
    case KEY_NPAGE: ScrollTo(at + page); return true;
    case KEY_HOME: ScrollTo(0); return true;
    case KEY_END: ScrollTo(static_cast<std::ptrdiff_t>(lines_.size())); return true;
    default: return false;
  }
}

void Screen::Suspend() {
  ::endwin();
  ::raise(SIGSTOP);  // goes on here when the shell continues the process
  TakeSize();
}

Screen::Event Screen::Wait(SteadyTime until) {
  for (;;) {
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGTSTP) {
        Suspend();
        return Event::kResize;
      }
      if (signal.ssi_signo != SIGWINCH) return Event::kQuit;
      TakeSize();
      return Event::kResize;
    }
    const int key = ::wgetch(stdscr);
    if (key == kQuitKey) return Event::kQuit;
    if (key == '\t' || key == KEY_RIGHT) return Event::kNext;
    if (key == KEY_BTAB || key == KEY_LEFT) return Event::kPrevious;
    if (key == 'p' || key == ' ') return Event::kPause;
    if (key == kRedrawKey) {
      ::clearok(stdscr, TRUE);
      Draw();
      continue;
    }
    if (key != ERR) {
      (void)Scrolls(key);
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyNow()).count();
    if (left <= 0) return Event::kTime;
    constexpr long long kLongestMs = 60'000;
    std::array<pollfd, 2> wait = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
    (void)::poll(wait.data(), wait.size(), static_cast<int>(std::min<long long>(left, kLongestMs)));
    // A terminal that has gone away is readable for ever.
    int bytes = 0;
    if ((wait[0].revents & ~POLLIN) != 0) return Event::kQuit;
    if (wait[0].revents != 0 && (::ioctl(STDIN_FILENO, FIONREAD, &bytes) != 0 || bytes == 0))
      return Event::kQuit;
  }
}

}  // namespace zenfs
