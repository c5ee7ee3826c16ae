// Where a thread is, for people who look for what it waits for.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <vector>

namespace zenfs {

// The return addresses on the caller's stack, its own first, as offsets in the file of the program, which addr2line(1)
// takes. Those in shared libraries are left out.
std::vector<std::uintptr_t> CallStack();

// The same of one address; 0 if it is not the program's.
std::uintptr_t OffsetInProgram(const void* address);

}  // namespace zenfs
