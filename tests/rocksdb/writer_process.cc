#include "writer_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

extern char** environ;

namespace zenfs {

WriterProcess::WriterProcess(const char* writer, const std::string& uri, long first, const char* mode)
    : first_(first) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string name = writer, argument = uri, number = std::to_string(first), how = mode;
  char* const arguments[] = {name.data(), argument.data(), number.data(), how.data(), nullptr};
  EXPECT_EQ(posix_spawn(&child_, writer, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  output_fd_ = ends[0];
}

WriterProcess::~WriterProcess() {
  if (child_ != 0) {
    EXPECT_TRUE(Kill());
  }
  close(output_fd_);
}

// The number on the last whole line.
long WriterProcess::acknowledged() const {
  const std::size_t end = output_.rfind('\n');
  if (end == std::string::npos) return first_ - 1;
  const std::size_t before = end == 0 ? std::string::npos : output_.rfind('\n', end - 1);
  return std::atol(output_.c_str() + (before == std::string::npos ? 0 : before + 1));
}

bool WriterProcess::ReadMore() {
  char buffer[4096];
  const ssize_t n = read(output_fd_, buffer, sizeof buffer);
  if (n <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

bool WriterProcess::WaitFor(long number) {
  while (acknowledged() < number) {
    if (!ReadMore()) return false;
  }
  return true;
}

bool WriterProcess::Kill() {
  kill(child_, SIGKILL);
  while (ReadMore()) {
  }
  int status = 0;
  const bool ended = waitpid(child_, &status, 0) == child_;
  child_ = 0;
  return ended && WIFSIGNALED(status);
}

}  // namespace zenfs
