// The command `zenfs`.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/environment.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  zenfs::Console console(stdout, stderr);
  if (zenfs::HasMorePrivilegesThanCaller()) {
    console.PrintError(
        "zenfs: refuses to run with more privileges than its caller has: it reads, replaces and removes any "
        "file that it is "
        "told to; take the setuid bit, the setgid bit or the capabilities from its file, and use sudo");
    return 1;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` is an error, not the end
  try {
    return zenfs::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), console);
  } catch (const std::exception& e) {  // before the verb runs; RunCommandLine catches later ones
    console.PrintError(std::string("zenfs: ") + e.what());
    return 1;
  }
}
