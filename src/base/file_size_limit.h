// The host's limit of file sizes (RLIMIT_FSIZE, `ulimit -f`). A write beyond it fails with EFBIG, and also raises SIGXFSZ,
// which by default ends the process. The command ignores the signal. The library runs in processes of others, whose signal
// dispositions are not its own: it keeps the signal from the thread around its writes.
//
// Threads: any.
#pragma once

#include <csignal>
#include <cstdint>

namespace zenfs {

// The limit of the process now, in bytes; the largest number if there is none. Takes a system call: a hot path asks once, when it opens its file.
[[nodiscard]] std::uint64_t FileSizeLimit();
[[nodiscard]] bool HasFileSizeLimit();

// While this object exists, no write of this thread raises SIGXFSZ. Keeps errno. Objects may be nested. One that was made
// without a limit does nothing.
class NoFileSizeSignal {
 public:
  explicit NoFileSizeSignal(bool limited = HasFileSizeLimit());
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  const bool limited_;
  sigset_t before_{};     // if limited_: the signals that the thread blocked
  bool pending_ = false;  // if limited_: somebody else's SIGXFSZ waits for this thread
};

}  // namespace zenfs
