#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "cli/device_option.h"
#include "cli/fuse_mount.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// The verb goes on in a process of its own, while the command waits until the mount is there, and ends. The new process is made before the
// volume is mounted: a mounted volume can't be used in a child.
class Background {
 public:
  // In the command: the exit status, once the other process is ready or has failed; that one has then said why. In the other
  // process: nothing.
  [[nodiscard]] Result<std::optional<int>> Begin() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, "a pipe can't be made");
    const pid_t child = ::fork();
    if (child < 0)
      return FailErrno(errno, "a process in the background can't be started; --foreground needs none");
    ::close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
      ready_ = ends[1];
      return std::nullopt;
    }
    char byte = 0;
    ssize_t n = 0;
    while ((n = ::read(ends[0], &byte, 1)) < 0 && errno == EINTR) {
    }
    ::close(ends[0]);
    if (n == 1) return 0;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    return Fail(Code::kIo, "the process in the background has ended before the mount was there");
  }

  // In the new process: the command may end. From now on this process belongs to no terminal.
  void Ready() {
    ::setsid();           // not before: until now Ctrl-C ends both
    (void)!::chdir("/");  // the directory of the user can be unmounted
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
      for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
      ::close(null);
    }
    const char byte = 1;
    (void)!::write(ready_, &byte, 1);
    ::close(ready_);
  }

 private:
  int ready_ = -1;  // no UniqueFd, which closes in a child
};

class MountAction : public Action {
 public:
  explicit MountAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("directory", directory_, "An empty directory")->required()->type_name("DIR");
    app.add_flag("-f,--foreground", foreground_, "Stay, print troubles, and unmount at Ctrl-C");
    app.add_flag("--allow-other", allow_other_, "Let other users read the files, too");
  }

  Result<int> Run(Console& console) override {
    ZENFS_RETURN_IF_ERROR(device_.Uri(OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const std::string mount_point, CheckMountPoint(directory_));
    ZENFS_RETURN_IF_ERROR(CheckFuse());
    Background background;
    if (!foreground_) {
      ZENFS_ASSIGN_OR_RETURN(const std::optional<int> status, background.Begin());
      if (status) return *status;
    }
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    const auto say = [&](const std::string& line) { Say(line, console); };
    ZENFS_ASSIGN_OR_RETURN(
        auto mount,
        FuseMount::Begin(*volume, {.mount_point = mount_point, .allow_other = allow_other_}, say));
    if (foreground_) {
      console.Print(fmt::format("Mounted on {}; Ctrl-C unmounts\n", mount_point));
      ZENFS_RETURN_IF_ERROR(console.Flush());
    } else {
      background.Ready();
    }
    const Status served = mount->Serve();
    mount.reset();
    if (!served.ok()) Say(served.error().ToString(), console);
    return served.ok() ? 0 : 1;
  }

 private:
  void Say(const std::string& line, Console& console) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (foreground_) return console.PrintError(fmt::format("zenfs mount: {}", line));
    ::syslog(LOG_DAEMON | LOG_ERR, "zenfs mount: %s", Printable(line).c_str());
  }

  DeviceOption device_;
  std::string directory_;
  bool foreground_ = false;
  bool allow_other_ = false;
  Mutex mutex_{LockRank::kLeaf};  // the console, once libfuse's threads run
};

}  // namespace

std::unique_ptr<Action> MakeMount(CLI::App& app) { return MakeAction<MountAction>(app); }

}  // namespace zenfs
