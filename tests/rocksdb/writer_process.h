// kill_writer.cc as a process: puts keys with sync from a number on, and says which are acknowledged.
#pragma once

#include <sys/types.h>

#include <string>

namespace zenfs {

class WriterProcess {
 public:
  // Runs the program `writer` on the database at `uri`, from key `first` on.
  WriterProcess(const char* writer, const std::string& uri, long first, const char* mode = "sync");
  ~WriterProcess();
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  // Waits until key `number` is acknowledged; false if the writer ended before.
  [[nodiscard]] bool WaitFor(long number);
  // SIGKILL. False if it had ended by itself. acknowledged() is then final.
  [[nodiscard]] bool Kill();
  // The last key acknowledged so far; first - 1 if none.
  long acknowledged() const;

 private:
  bool ReadMore();

  const long first_;
  pid_t child_ = 0;
  int output_fd_ = -1;
  std::string output_;
};

}  // namespace zenfs
