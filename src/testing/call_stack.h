// Call stacks, to find out what a thread waits for.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <vector>

namespace zenfs {

// The return addresses on the caller's stack, innermost first, as offsets in the program's file,
// for addr2line(1). Leaves out addresses in shared libraries.
std::vector<std::uintptr_t> CallStack();

// The offset of one address; 0 if it is not in the program.
std::uintptr_t OffsetInProgram(const void* address);

}  // namespace zenfs
