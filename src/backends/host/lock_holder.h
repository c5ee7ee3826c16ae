// Describes the holder of a file lock, for the error message of a process that did not get it.
#pragma once

#include <string>
#include <string_view>

namespace zenfs {

// "process 1234 (db_bench)" for the holder of a flock(2) lock on the open file `fd`, "this process
// (1234)", or "another process" if the kernel does not show it (another pid namespace, some network
// file systems, more locks than ReadProcLocks reads).
[[nodiscard]] std::string DescribeLockHolder(int fd);

// The same for the file or directory at `path`, which is not opened; empty if the kernel shows no lock.
[[nodiscard]] std::string DescribeLockHolder(const std::string& path);

// The begin of /proc/locks, at most 256 KiB: some 4,000 locks. Every user may take locks, and the time that the kernel needs for the list grows
// with the square of their number.
[[nodiscard]] std::string ReadProcLocks();

// The pid of the flock holder of the given device and inode, from the text of /proc/locks; 0 if
// there is none.
[[nodiscard]] int FindFlockHolder(std::string_view proc_locks, unsigned major, unsigned minor,
                                  unsigned long long inode);

}  // namespace zenfs
