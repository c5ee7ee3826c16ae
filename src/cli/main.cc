// The command `zenfs`.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "cli/command_line.h"

namespace {

const char* verb = "";
std::terminate_handler usual_end = nullptr;

// If memory runs out in a thread of a mount, the process ends (docs/internals/faults.md). Takes no memory.
[[noreturn]] void End() {
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    for (const std::string_view part :
         {std::string_view("zenfs "), std::string_view(verb),
          std::string_view(": out of memory, in a thread of the mount; what was synced is kept\n")}) {
      if (::write(STDERR_FILENO, part.data(), part.size()) < 0) break;
    }
    ::_exit(1);
  } catch (...) {
  }
  usual_end();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) verb = argv[1];
  usual_end = std::set_terminate(End);
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
