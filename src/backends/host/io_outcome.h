// The outcome of commands of the kernel or of a drive.
#pragma once

#include <cstdint>
#include <string>

namespace zenfs {

// Longest read or write sent as one call, in bytes. The kernel transfers at most 2 GiB less a page
// in one call.
constexpr std::uint64_t kLongestCall = std::uint64_t{1} << 30;

struct IoOutcome {
  std::uint64_t bytes = 0;       // transferred before the end or the error
  int os_errno = 0;              // 0: no error; `bytes` can be short at the end of the file
  const char* status = nullptr;  // of a failed NVMe command: its name, a static string
  std::uint64_t place = 0;       // of an append: where the drive put the bytes, as IoPlace::offset counts

  bool Moved(std::uint64_t wanted) const { return os_errno == 0 && bytes == wanted; }
};

// Of a command that moves no bytes.
struct CommandResult {
  int os_errno = 0;              // 0: it succeeded
  const char* status = nullptr;  // of a failed NVMe command: its name, a static string

  bool ok() const { return os_errno == 0; }
};

// `text`, with the status of the drive if there is one.
[[nodiscard]] inline std::string WithStatus(std::string text, const char* status) {
  return status == nullptr ? text : text + ", the drive says: " + status;
}

}  // namespace zenfs
