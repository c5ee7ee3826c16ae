#include "base/free_bytes.h"

#include <sys/statvfs.h>

#include <atomic>
#include <limits>

namespace zenfs {
namespace {

constexpr std::uint64_t kNotSet = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> bytes_for_tests{kNotSet};

}  // namespace

std::optional<std::uint64_t> FreeBytes(int fd) {
  if (bytes_for_tests != kNotSet) return bytes_for_tests;
  struct statvfs fs{};
  if (::fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0) return std::nullopt;
  return static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
}

FreeBytesForTests::FreeBytesForTests(std::uint64_t bytes) { bytes_for_tests = bytes; }
FreeBytesForTests::~FreeBytesForTests() { bytes_for_tests = kNotSet; }

}  // namespace zenfs
