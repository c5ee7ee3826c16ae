#include "base/thread.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "testing/refused_threads.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;

TEST(ThreadTest, BodyHasRunWhenJoinReturns) {
  bool ran = false;
  Result<Thread> thread = Thread::Start("worker", [&] { ran = true; });
  ASSERT_TRUE(thread);
  thread->Join();
  EXPECT_TRUE(ran);
}

TEST(ThreadTest, RefusedThreadIsAnErrorAndItsBodyDoesNotRun) {
  bool ran = false;
  const RefusedThreads refused(1);
  const Result<Thread> thread = Thread::Start("worker", [&] { ran = true; });
  ASSERT_FALSE(thread);
  EXPECT_FALSE(ran);
  EXPECT_EQ(thread.error().code(), Code::kBusy);
  EXPECT_EQ(thread.error().os_errno(), EAGAIN);
  EXPECT_THAT(thread.error().ToString(), HasSubstr("worker"));
  EXPECT_THAT(thread.error().ToString(), HasSubstr("ulimit -u"));
}

// Runs in a child process that gives up its privileges, because the limit does not apply to root.
TEST(ThreadTest, LimitOfTheKernelIsAnErrorToo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobodyElse = 4'000'123;  // a user without processes: the limit is per user
    const rlimit none{1, 1};
    if (geteuid() == 0 && setuid(kNobodyElse) != 0) _exit(2);
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(3);
    const Result<Thread> thread = Thread::Start("worker", [] {});
    _exit(!thread && thread.error().code() == Code::kBusy ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace zenfs
