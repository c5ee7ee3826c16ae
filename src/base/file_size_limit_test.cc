#include "base/file_size_limit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/unique_fd.h"
#include "testing/lower_file_size_limit.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

std::atomic<int> signals{0};

class FileSizeLimitTest : public testing::Test {
 protected:
  ~FileSizeLimitTest() override { std::signal(SIGXFSZ, SIG_DFL); }

  int ErrorOfWriting() { return ::pwrite(file_.get(), "x", 1, 4096) == 1 ? 0 : errno; }

  TempDirectory directory_;
  UniqueFd file_{::open(directory_.File("a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};

TEST_F(FileSizeLimitTest, AWriteBeyondTheLimitFailsWithoutASignal) {
  EXPECT_FALSE(HasFileSizeLimit());
  const LowerFileSizeLimit limit(4096);
  EXPECT_TRUE(HasFileSizeLimit());
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  for (int i = 0; i < 2; ++i) {
    const NoFileSizeSignal outer;
    const NoFileSizeSignal inner;
    EXPECT_EQ(ErrorOfWriting(), EFBIG);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGXFSZ), sigismember(&before, SIGXFSZ));
}

TEST_F(FileSizeLimitTest, TheHandlerOfTheProcessStaysAndGetsItsOwnSignals) {
  signals = 0;
  std::signal(SIGXFSZ, [](int) { ++signals; });
  const LowerFileSizeLimit limit(4096);
  {
    const NoFileSizeSignal guard;
    EXPECT_EQ(ErrorOfWriting(), EFBIG);
  }
  EXPECT_EQ(signals, 0) << "of the guarded write";
  EXPECT_EQ(ErrorOfWriting(), EFBIG);
  EXPECT_EQ(signals, 1) << "of a write of the program";
}

TEST_F(FileSizeLimitTest, ASignalThatWaitsAlreadyIsLeftToTheProgram) {
  signals = 0;
  std::signal(SIGXFSZ, [](int) { ++signals; });
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGXFSZ);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_kill(pthread_self(), SIGXFSZ);
  {
    const NoFileSizeSignal guard(true);
  }
  EXPECT_EQ(signals, 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(signals, 1);
}

}  // namespace
}  // namespace zenfs
