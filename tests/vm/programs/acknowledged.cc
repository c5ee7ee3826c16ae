#include "acknowledged.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace zenfs {
namespace {

// A line that the crash cut short was not acknowledged.
long LastOf(const std::string& path) {
  std::ifstream file(path);
  long last = -1;
  for (std::string line; std::getline(file, line) && !file.eof();) last = std::atol(line.c_str());
  return last;
}

[[noreturn]] void EndWithErrno(const std::string& path) {
  std::perror(path.c_str());
  std::exit(2);
}

}  // namespace

Acknowledged::Acknowledged(const std::string& folder, int threads) {
  for (int i = 0; i < threads; ++i) {
    const std::string path = fmt::format("{}/acknowledged.{}", folder, i);
    last_.push_back(LastOf(path));
    files_.emplace_back(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!files_.back().valid()) EndWithErrno(path);
  }
}

void Acknowledged::Record(int thread, long number) {
  const auto i = static_cast<std::size_t>(thread);
  const std::string line = fmt::format("{}\n", number);
  if (write(files_[i].get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    EndWithErrno("acknowledged");
  last_[i] = number;
}

}  // namespace zenfs
