// A lower limit of file sizes for this process, with the default action of SIGXFSZ: a write that is not guarded ends the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>

namespace zenfs {

class LowerFileSizeLimit {
 public:
  explicit LowerFileSizeLimit(std::uint64_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    Lower(bytes);
  }
  ~LowerFileSizeLimit() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  LowerFileSizeLimit(const LowerFileSizeLimit&) = delete;
  LowerFileSizeLimit& operator=(const LowerFileSizeLimit&) = delete;

  void Lower(std::uint64_t bytes) {
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

 private:
  rlimit before_{};
};

}  // namespace zenfs
