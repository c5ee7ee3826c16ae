#include "base/environment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

constexpr uid_t kSomebody = 65534;
constexpr int kIgnored = 42;  // the exit status of the copy
constexpr char kVariable[] = "ZENFS_TEST_VARIABLE";

// Runs this program's test `name` from `program` as somebody else. Returns the exit status.
int RunAsSomebody(const std::string& program, const char* name) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kSomebody) != 0 || ::setuid(kSomebody) != 0 || ::chdir("/") != 0) ::_exit(1);
    ::execl(program.c_str(), program.c_str(), "--gtest_also_run_disabled_tests", name, nullptr);
    ::_exit(2);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Part of the next test, which runs it in a setuid copy of this program.
TEST(EnvironmentTest, DISABLED_InASetuidCopy) {
  ::_exit(HasMorePrivilegesThanCaller() && EnvironmentVariable(kVariable).empty() &&
                  std::getenv(kVariable) != nullptr
              ? kIgnored
              : 1);
}

TEST(EnvironmentTest, ASetuidProgramIgnoresTheVariablesOfItsCaller) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a setuid program that belongs to somebody else";
  const TempDirectory directory;
  struct statvfs fs{};
  ASSERT_EQ(::statvfs(directory.path().c_str(), &fs), 0);
  if ((fs.f_flag & (ST_NOSUID | ST_NOEXEC)) != 0)
    GTEST_SKIP() << directory.path() << " is mounted with nosuid or noexec: set TMPDIR";
  const std::string copy = directory.File("copy");
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  ASSERT_EQ(::setenv(kVariable, "/etc/shadow", 1), 0);
  EXPECT_EQ(EnvironmentVariable(kVariable), "/etc/shadow") << "in a program without such privileges";
  EXPECT_EQ(RunAsSomebody(copy, "--gtest_filter=EnvironmentTest.DISABLED_InASetuidCopy"), kIgnored);
  ::unsetenv(kVariable);
}

}  // namespace
}  // namespace zenfs
