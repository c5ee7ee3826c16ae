#include "faulty_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>

#include "base/unique_fd.h"

namespace zenfs {
namespace {

constexpr unsigned kHangsAfterSeconds = 20;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class MappedPlan {
 public:
  MappedPlan(const std::string& path, const HostFault& fault) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (::ftruncate(fd.get(), sizeof(FaultPlan)) != 0) std::abort();
    void* const page = ::mmap(nullptr, sizeof(FaultPlan), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (page == MAP_FAILED) std::abort();
    plan_ = new (page) FaultPlan{};
    plan_->kinds = fault.kinds;
    plan_->error = fault.error;
    plan_->first = fault.first;
    plan_->times = fault.times;
  }
  ~MappedPlan() { ::munmap(plan_, sizeof(FaultPlan)); }
  MappedPlan(const MappedPlan&) = delete;
  MappedPlan& operator=(const MappedPlan&) = delete;

  const FaultPlan& operator*() const { return *plan_; }

 private:
  FaultPlan* plan_;
};

[[noreturn]] void Execute(const std::vector<std::string>& words, const HostFault& fault,
                          const std::string& plan, const std::string& out, const std::string& err) {
  const int null = ::open("/dev/null", O_RDONLY);
  const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::dup2(null, 0) < 0 || ::dup2(to_out, 1) < 0 || ::dup2(to_err, 2) < 0) ::_exit(126);
  ::close_range(3, ~0u, 0);  // those of whoever runs the tests too, for the limit of descriptors counts them
  std::vector<char*> arguments = {const_cast<char*>("zenfs")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string page = std::string(kFaultPlanVariable) + "=" + plan;
  const char* const environment[] = {"LD_PRELOAD=" FAIL_CALLS, page.c_str(), "ZENFS_DEVICES_FILE=/dev/null",
                                     nullptr};
  ::alarm(kHangsAfterSeconds);
  if (fault.open_files_max) {
    const rlimit limit{*fault.open_files_max, *fault.open_files_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (fault.address_space_max) {
    const rlimit limit{*fault.address_space_max, *fault.address_space_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ::execve(ZENFS_COMMAND, arguments.data(), const_cast<char**>(environment));
  ::_exit(127);
}

}  // namespace

std::string Ran::ToString() const {
  return fmt::format("status {}, signal {}, call {} of {} failed ({}); standard error: {}", status, signal,
                     failed_call, calls, failed, fmt::join(errors, " | "));
}

Ran RunZenfs(const std::string& scratch, const std::vector<std::string>& words, const HostFault& fault) {
  const std::string out = scratch + "/out";
  const std::string err = scratch + "/err";
  const MappedPlan plan(scratch + "/plan", fault);
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) Execute(words, fault, scratch + "/plan", out, err);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) std::abort();
  Ran ran{.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = ReadFile(out),
          .calls = (*plan).calls,
          .failed = (*plan).failed,
          .failed_call = (*plan).name};
  std::istringstream lines(ReadFile(err));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(": note: ") == std::string::npos) ran.errors.push_back(line);
  }
  return ran;
}

}  // namespace zenfs
