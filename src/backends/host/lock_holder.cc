#include "backends/host/lock_holder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/unique_fd.h"

namespace zenfs {
namespace {

constexpr std::size_t kBytesMax = 256 << 10;

std::string ReadProcFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (fd.valid() && text.size() < kBytesMax) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(' '); at != line.npos; at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

std::string ReadProcLocks() { return ReadProcFile("/proc/locks"); }

int FindFlockHolder(std::string_view proc_locks, unsigned major, unsigned minor, unsigned long long inode) {
  // 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF        (a line with "->" is a waiting process)
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major, minor, inode);
  while (!proc_locks.empty()) {
    const std::size_t end = std::min(proc_locks.find('\n'), proc_locks.size());
    const auto words = Words(proc_locks.substr(0, end));
    proc_locks.remove_prefix(std::min(end + 1, proc_locks.size()));
    if (words.size() < 6 || words[1] != "FLOCK" || words[5] != place) continue;
    int pid = 0;
    std::from_chars(words[4].data(), words[4].data() + words[4].size(), pid);
    if (pid > 0) return pid;
  }
  return 0;
}

namespace {

// Empty if the kernel shows no lock.
std::string HolderOf(const struct stat& st) {
  const int pid = FindFlockHolder(ReadProcLocks(), major(st.st_dev), minor(st.st_dev), st.st_ino);
  if (pid == 0) return {};
  if (pid == ::getpid()) return fmt::format("this process ({})", pid);
  std::string name = ReadProcFile(fmt::format("/proc/{}/comm", pid));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {} ({})", pid, name);
}

}  // namespace

std::string DescribeLockHolder(int fd) {
  struct stat st{};
  const std::string holder = ::fstat(fd, &st) == 0 ? HolderOf(st) : "";
  return holder.empty() ? "another process" : holder;
}

std::string DescribeLockHolder(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? HolderOf(st) : "";
}

}  // namespace zenfs
