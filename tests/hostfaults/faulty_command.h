// Runs the command `zenfs`, under the preload library that makes calls to libc fail.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fault_plan.h"

namespace zenfs {

// What of the host fails.
struct HostFault {
  std::uint32_t kinds = kFileCalls;
  int error = 0;
  std::uint64_t first = 0;  // call, from 1; 0: none
  std::uint64_t times = 1;
  std::optional<rlim_t> open_files_max;
  std::optional<rlim_t> address_space_max;  // bytes
};

struct Ran {
  int signal = 0;  // that ended it; SIGALRM if it hung
  int status = 0;
  std::string out;
  std::vector<std::string> errors;  // lines of standard error that are no notes
  std::uint64_t calls = 0;          // of the kinds that were asked for
  std::uint64_t failed = 0;
  std::string failed_call;

  bool ok() const { return signal == 0 && status == 0; }
  std::string ToString() const;
};

// `scratch` is a directory for the page and for output. Never throws; a command that hangs is killed after 20 s.
[[nodiscard]] Ran RunZenfs(const std::string& scratch, const std::vector<std::string>& words,
                           const HostFault& fault = {});

}  // namespace zenfs
