// Properties of the output: whether it is a terminal, its width, and whether to use colour.
#pragma once

namespace zenfs {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // never when NO_COLOR is set (https://no-color.org) or TERM is "dumb"
  bool utf8 = false;    // never without a terminal, so that redirected output is the same everywhere
  int columns = 80;     // of the terminal, otherwise from COLUMNS, otherwise 80; 40 to 1000

  // Examines the open file `fd` and the environment.
  static Terminal Of(int fd);
};

}  // namespace zenfs
