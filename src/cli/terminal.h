// What is known of where the output goes: a terminal or not, its width, whether colour is welcome.
#pragma once

namespace zenfs {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // never when NO_COLOR is set (https://no-color.org) or TERM is "dumb"
  bool utf8 = false;    // never without a terminal, so that redirected output is the same everywhere
  int columns = 80;     // of the terminal, else of the environment's COLUMNS, else 80; 40 to 1000

  // Looks at the open file `fd` and the environment.
  static Terminal Of(int fd);
};

}  // namespace zenfs
