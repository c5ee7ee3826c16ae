// The command `zenfs`.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  zenfs::Console console(stdout, stderr);
  try {
    return zenfs::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), console);
  } catch (const std::exception& e) {  // before the verb runs; RunCommandLine catches later ones
    console.PrintError(std::string("zenfs: ") + e.what());
    return 1;
  }
}
