#include "cli/plugin_version.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace zenfs {

namespace {

constexpr std::chrono::seconds kChildMax{30};
constexpr std::size_t kAnswerMax = 64 << 10;

// Sends the answer of a child process, with its end.
void Say(int pipe, std::string_view first, std::string_view second) {
  std::string answer(first);
  answer.append(second).push_back('\0');
  [[maybe_unused]] const ssize_t bytes = ::write(pipe, answer.data(), answer.size());
}

[[noreturn]] void AnswerFor(const std::string& library, int pipe) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const version = loaded == nullptr ? nullptr : ::dlsym(loaded, "zenfs_plugin_version");
  if (version != nullptr) {
    Say(pipe, "", reinterpret_cast<const char* (*)()>(version)());
  } else {
    const char* const why = ::dlerror();
    Say(pipe, "!", why == nullptr ? "not a plugin of ZenFS" : why);
  }
  ::_exit(0);
}

// Up to the answer's end, or the end of all who hold the pipe. Nothing at the deadline.
std::optional<std::string> ReadAnswer(int pipe) {
  const Deadline deadline = Deadline::After(kChildMax);
  std::string answer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.when() - SteadyNow());
    pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
    if (left.count() <= 0) return {};
    if (::poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
    char piece[4096];
    const ssize_t bytes = ::read(pipe, piece, sizeof piece);
    if (bytes <= 0) return answer;
    answer.append(piece, static_cast<std::size_t>(bytes));
    const std::size_t end = answer.find('\0');
    if (end != std::string::npos) return answer.substr(0, end);
    if (answer.size() > kAnswerMax) return answer;
  }
}

}  // namespace

std::string PluginBesideCommand() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = own.parent_path() / kPluginName;
  struct stat command{};
  struct stat plugin{};
  if (error || ::stat("/proc/self/exe", &command) != 0 || ::stat(beside.c_str(), &plugin) != 0)
    return kPluginName;
  const bool trusted = plugin.st_uid == 0 || plugin.st_uid == ::geteuid() || plugin.st_uid == command.st_uid;
  return trusted && (plugin.st_mode & S_IWOTH) == 0 ? beside : kPluginName;
}

// The pipe is no UniqueFd: a child could not use that.
Result<std::string> VersionOfPlugin(const std::string& library) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, library + ": cannot be asked");
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    AnswerFor(library, ends[1]);
  }
  ::close(ends[1]);
  std::optional<std::string> said;
  if (child > 0) {
    ::setpgid(child, child);  // whoever is first
    said = ReadAnswer(ends[0]);
    ::kill(-child, SIGKILL);  // and what the libraries have started
    ::waitpid(child, nullptr, 0);
  }
  ::close(ends[0]);
  if (child < 0) return Fail(Code::kNoSpace, library + ": cannot be asked without a process");
  if (!said) return Fail(Code::kTimedOut, library + ": does not answer when it is loaded");
  if (said->empty()) return Fail(Code::kNotFound, library + ": could not be loaded");
  if (said->starts_with('!')) return Fail(Code::kNotFound, said->substr(1));
  return *std::move(said);
}

}  // namespace zenfs
