// Which libraries the loader of glibc takes for a program, by the rules of ld.so(8). The loader itself is not asked: it runs code of what
// a program names as its auditors (DT_AUDIT), also for ldd(1).
//
// Left out: libraries that are preloaded or opened later, variants for a processor (glibc-hwcaps), and DF_1_NODEFLIB.
//
// Threads: none.
#pragma once

#include <chrono>
#include <functional>

#include "base/status.h"
#include "cli/elf_file.h"

namespace zenfs {

// Visits each library that `program`, or one of its libraries, needs: once, in the order of the loader. Leaves out those that are not found.
// Errors: those of `visit`; kInvalidArgument for more than 1,000 libraries, 10,000 names of them or 100,000
// places to look for them; kTimedOut after `longest`: the host may take milliseconds to follow the links of one place.
[[nodiscard]] Status VisitNeededLibraries(const ElfFile& program,
                                          const std::function<Status(const ElfFile& library)>& visit,
                                          std::chrono::seconds longest = std::chrono::seconds(30));

}  // namespace zenfs
