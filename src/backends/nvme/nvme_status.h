// What a status of an NVMe command means: its name, and the errno that the block layer would give.
//
// Source: NVM Express base specification, "Status Field"; Zoned Namespace Command Set, "Status Values". The kernel returns
// the status field of a completion without its phase bit: SC in bits 0 to 7, SCT in bits 8 to 10, DNR in bit 14.
#pragma once

#include <cerrno>

#include "backends/host/plain_io.h"

namespace zenfs {

// The errno for `status` (above 0), as the kernel's block layer translates it; EIO for all it has no word for.
[[nodiscard]] int NvmeErrno(int status);

// The name of `status` in the specification, with a reason: "Zone Is Full: The accessed zone is in the ZSF:Full state".
// A static string.
[[nodiscard]] const char* NvmeStatusName(int status);

// The result of a command from what ioctl(2) and the functions of libnvme return: 0, -1 with errno set, or a status.
[[nodiscard]] CommandResult NvmeResult(int answer);

// Calls `send`, which returns the answer to a command and sets errno if that is negative, until the kernel has not cancelled
// the command: a reset of the controller ends commands with EINTR, executed or not. So only for commands that may be executed
// twice.
template <typename Call>
[[nodiscard]] int SentThrough(const Call& send) {
  int answer = send();
  while (answer < 0 && errno == EINTR) answer = send();
  return answer;
}

}  // namespace zenfs
