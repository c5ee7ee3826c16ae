// A full screen on the terminal of this process, by ncurses: shows text, scrolls what is longer, and waits for keys.
//
// While it is open, interrupts, requests to end and changes of the terminal's size are events of Wait instead of signals, so open it
// before other threads start. The destructor restores the terminal and the signals; so does the end of the process by an
// exception.
//
// Threads: one at a time. One object at a time.
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/console.h"
#include "cli/styled_text.h"

struct screen;  // of ncurses, whose macros stay out of headers

namespace zenfs {

class Screen {
 public:
  // OK if standard input and output are a terminal that a screen can be shown on. Errors: kNotSupported with the reason.
  [[nodiscard]] static Status Available();
  // Errors: those of Available, and kIo if the host refuses a descriptor.
  [[nodiscard]] static Result<std::unique_ptr<Screen>> Open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Of the terminal as it is now.
  [[nodiscard]] const Terminal& terminal() const { return terminal_; }
  [[nodiscard]] int rows() const;  // for text, without the line of keys

  // Replaces what is shown. Lines that are too long are cut. `keys`: what the last line says about keys besides those of Wait.
  void Show(const StyledText& text, std::string_view keys);

  enum class Event {
    kTime,      // `until` has passed
    kResize,    // the terminal has another size: show text that fits it
    kNext,      // Tab, right arrow
    kPrevious,  // Shift-Tab, left arrow
    kPause,     // p, space
    kQuit,      // q, an interrupt, a request to end, the loss of the terminal
  };
  // Waits for an event. Handles keys that scroll, that suspend the process (Ctrl-Z) and that draw everything anew (Ctrl-L).
  [[nodiscard]] Event Wait(SteadyTime until);

 private:
  Screen() = default;

  void TakeSize();
  void Draw();
  void DrawLine(int row, const StyledText& line);
  void ScrollTo(std::ptrdiff_t line);
  bool Scrolls(int key);  // false for other keys
  void Suspend();

  ::screen* screen_ = nullptr;
  UniqueFd signals_;
  sigset_t mask_before_{};
  Terminal terminal_;
  std::vector<StyledText> lines_;
  std::string keys_;
  std::size_t first_line_ = 0;  // the line in the first row
};

}  // namespace zenfs
