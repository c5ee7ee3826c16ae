// `zenfs doctor`: looks at this host (plugin, shared memory, io_uring, limits, devices), or at the RocksDB of a program, or runs a program
// with a default device and shows what it wrote where.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/host/block_facts.h"
#include "backup/volume_tree.h"
#include "base/clock.h"
#include "base/short_bytes.h"
#include "base/status.h"
#include "cli/device_option.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/program_look.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

constexpr int kProblems = 1;
constexpr std::uint64_t kSharedMemoryWanted = 64 << 20;  // 32 append buffers of 2 MiB
constexpr const char* kPluginName = "libzenfs.so";
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

// What the plugin says of itself: "3.0.0 for RocksDB 7.8.3". Its code and that of its libraries runs in a child process, so this process
// must have no other threads. `library`: a path, or a name for the loader. Errors: kNotFound, with the words of the loader; kTimedOut
// after 30 seconds.
//
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

// The path of the plugin beside this command; else its name, for the loader. A file beside the command is taken only if it belongs to the
// command's user, the caller or root, and not all users may write to it: the command may be in a directory like /tmp.
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

// One thing that was looked at.
struct Observation {
  std::string what;
  std::string found;
  std::string cure;  // empty: nothing is wrong
};

Observation LookAtPlugin() {
  const Result<std::string> version = VersionOfPlugin(kPluginName);
  if (version) return {"plugin", *version, ""};
  const std::string beside = PluginBesideCommand();
  if (const Result<std::string> there = VersionOfPlugin(beside); there && beside != kPluginName) {
    return {"plugin", fmt::format("{}, which the loader does not find", *there),
            fmt::format("export LD_LIBRARY_PATH={}", std::filesystem::path(beside).parent_path().string())};
  }
  return {"plugin", version.error().text(),
          "install ZenFS, or add the directory of libzenfs.so to LD_LIBRARY_PATH"};
}

std::vector<Observation> LookAtDrives() {
  std::vector<Observation> seen;
  const std::string release = KernelRelease();
  for (const KnownDevice& device : FindDevices(SearchPlaces::OfThisProcess(), {}).devices) {
    const Json look = DeviceJson({.known = device, .look = Examine(device)}, release);
    std::string cure;
    if (!look.value("writable", true))
      cure = "get permission for the device node, as root or by a udev rule (docs/use/devices.md)";
    if (look.contains("scheduler_fix") && look["scheduler_fix"].is_string()) cure = look["scheduler_fix"];
    seen.push_back({"device " + device.Name(), cure.empty() ? "usable" : "not usable as it is", cure});
  }
  if (seen.empty()) {
    seen.push_back({"devices", "no zoned device on this host, and none in a list",
                    "to try ZenFS without one: zenfs emu create device.img"});
  }
  return seen;
}

Observation LookAtSharedMemory() {
  struct statfs fs{};
  if (::statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS_MAGIC) {
    return {"shared memory", "/dev/shm is not a tmpfs: each flush is a write to the device",
            "mount -t tmpfs tmpfs /dev/shm, or name another tmpfs by ?flush_dir"};
  }
  const std::uint64_t free = fs.f_bavail * static_cast<std::uint64_t>(fs.f_bsize);
  const std::string found = fmt::format("/dev/shm has {} free", ShortBytes(free));
  if (free >= kSharedMemoryWanted) return {"shared memory", found, ""};
  return {"shared memory", found,
          fmt::format("a mount takes up to {}: mount -o remount,size=1G /dev/shm",
                      ShortBytes(kSharedMemoryWanted))};
}

Observation LookAtRing() {
  io_uring ring{};
  const int result = ::io_uring_queue_init(1, &ring, 0);
  if (result < 0) {
    return {"io_uring",
            fmt::format("refused ({}): reads and writes work, one at a time for each thread",
                        std::strerror(-result)),
            "sysctl kernel.io_uring_disabled=0, or allow it in the container's seccomp profile"};
  }
  ::io_uring_queue_exit(&ring);
  return {"io_uring", "works", ""};
}

Observation LookAtFileSizeLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {"file size limit", "none", ""};
  return {"file size limit", ShortBytes(limit.rlim_cur),
          "ulimit -f unlimited: backups and emulated devices need larger files"};
}

std::string VersionWanted(const ProgramLook& look) {
  const auto found = std::ranges::find_if(look.found, &RocksDbLook::can_be_reached);
  return found == look.found.end() ? "" : found->version;
}

const char* NameOf(RocksDbLook::Place place) {
  switch (place) {
    case RocksDbLook::Place::kShared: return "dynamically";
    case RocksDbLook::Place::kVisible: return "statically";
    case RocksDbLook::Place::kHidden: return "hidden";
    case RocksDbLook::Place::kArchive: break;
  }
  return "in an archive";
}

// What a plugin for it must be built with.
std::string BuiltWith(const RocksDbLook& found) {
  return fmt::format("({} std::string, {} RTTI)", found.new_strings ? "new" : "old",
                     found.rtti ? "with" : "no");
}

std::string Describe(const RocksDbLook& found) {
  const std::string version = found.version.empty() ? "RocksDB" : "RocksDB " + found.version;
  switch (found.place) {
    case RocksDbLook::Place::kShared:
      return fmt::format("{} in {}: ZenFS reaches it {}", version, found.object, BuiltWith(found));
    case RocksDbLook::Place::kArchive:
      return fmt::format("{} in {}: ZenFS reaches it if its native library is unpacked", version,
                         found.object);
    case RocksDbLook::Place::kVisible:
      return fmt::format(
          "{} in {}, linked statically with visible symbols: a default device does not reach it; by an "
          "option of the program (env=zenfs://...) a preloaded ZenFS may {}",
          version, found.object, BuiltWith(found));
    case RocksDbLook::Place::kHidden: break;
  }
  return fmt::format("{} in {}, linked statically or hidden: ZenFS does not reach it", version, found.object);
}

// What to type, or why nothing helps.
std::string Advice(const ProgramLook& look, const std::string& plugin) {
  if (look.kind == ProgramLook::Kind::kScript) {
    return fmt::format(
        "a script for {}: look at the programs that it starts, or at its run: zenfs doctor --run --emu=PATH "
        "-- {}\n",
        look.interpreter, look.path);
  }
  if (look.found.empty())
    return "no RocksDB is known before it runs; if it loads one later: zenfs doctor --run --emu=PATH -- " +
           look.path + "\n";
  const std::string version = VersionWanted(look);
  if (std::ranges::none_of(look.found, &RocksDbLook::can_be_reached))
    return "link the program with a shared RocksDB, or build RocksDB with ZenFS inside "
           "(docs/use/rocksdb.md)\n";
  std::string text;
  std::string name = kPluginName;
  if (version.empty()) {
    text =
        "its version is not known here: the first lines of the file LOG of its database name it, and the "
        "plugin must be for the same\n";
  } else if (!plugin.ends_with(" " + version)) {
    text = fmt::format(
        "build the plugin for RocksDB {} (docs/use/rocksdb.md, \"Building for another RocksDB\")\n", version);
    name = fmt::format("build/rocksdb-{}/{}", version, kPluginName);
  }
  const bool java = look.kind == ProgramLook::Kind::kArchive;
  return text +
         (java ? "put the plugin beside librocksdbjni-linux64.so and its directory into LD_LIBRARY_PATH "
                 "(java/README.md), then type\n"
               : "type\n") +
         fmt::format("  ZENFS_DEFAULT_URI=zenfs://dev:NAME ZENFS_DEFAULT_PREFIX=DIRECTORY LD_PRELOAD={} {}\n",
                     name,
                     java                                       ? "java ..."
                     : look.kind == ProgramLook::Kind::kLibrary ? "PROGRAM"
                                                                : look.path);
}

// Adds what the archives among the arguments of a program have, as in "java -cp a.jar:b.jar Main".
Status LookAtArguments(std::span<const std::string> arguments, ProgramLook& look) {
  for (const std::string& argument : arguments) {
    for (std::string_view rest = argument; !rest.empty();) {
      const std::string path(rest.substr(0, rest.find(':')));
      rest.remove_prefix(std::min(rest.size(), path.size() + 1));
      std::error_code ignored;  // the program says by itself that it can't read a jar
      if (!path.ends_with(".jar") || !std::filesystem::is_regular_file(path, ignored)) continue;
      ZENFS_ASSIGN_OR_RETURN(ProgramLook archive, LookAtProgram(path));
      if (!archive.found.empty()) look.kind = ProgramLook::Kind::kArchive;
      std::ranges::move(archive.found, std::back_inserter(look.found));
    }
  }
  return {};
}

using VisitFile = std::function<void(std::string_view path, std::uint64_t size)>;

// Which files are new or have another size after a run. Takes 8 bytes for each file, however long its path.
class FileChanges {
 public:
  // To be given all files before the run, and then all files after it.
  VisitFile Before() {
    return [this](std::string_view path, std::uint64_t size) { before_.push_back(MarkOf(path, size)); };
  }
  VisitFile After() {
    std::ranges::sort(before_);
    return [this](std::string_view path, std::uint64_t size) {
      if (std::ranges::binary_search(before_, MarkOf(path, size))) return;
      bytes_ += size;
      if (++count_ <= kExamples) examples_ += fmt::format("{}{}", count_ == 1 ? ": " : ", ", path);
    };
  }

  std::string Line(std::string_view where) const {
    return Printable(fmt::format("{}: {} files new or changed, {}{}{}", where, count_, ShortBytes(bytes_),
                                 examples_, count_ > kExamples ? ", ..." : "")) +
           "\n";
  }

 private:
  static constexpr std::uint64_t kExamples = 3;

  // Two files have the same by a chance of 2^-64.
  static std::uint64_t MarkOf(std::string_view path, std::uint64_t size) {
    return std::hash<std::string_view>()(path) + size * 0x9e3779b97f4a7c15;
  }

  std::vector<std::uint64_t> before_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::string examples_;
};

class DoctorAction : public Action {
 public:
  explicit DoctorAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("program", words_,
                   "The program to look at, and its arguments; those that begin with - after --")
        ->type_name("PROGRAM");
    app.add_flag("--run", run_,
                 "Run the program with the device as its default, then show what it wrote where");
    app.add_option(
           "--prefix", prefix_,
           "With --run: only files below this directory are in the volume (default: the working directory)")
        ->type_name("DIRECTORY");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    if (run_) return RunProgram(console);
    if (words_.empty()) return LookAtHost(console);
    ZENFS_ASSIGN_OR_RETURN(ProgramLook look, LookAtProgram(words_[0]));
    ZENFS_RETURN_IF_ERROR(LookAtArguments(std::span(words_).subspan(1), look));
    const Result<std::string> plugin = VersionOfPlugin(PluginBesideCommand());
    const std::string advice = Advice(look, plugin ? *plugin : "");
    if (json_) {
      Json found = Json::array();
      for (const RocksDbLook& one : look.found) {
        found.push_back({{"object", one.object},
                         {"version", one.version},
                         {"reached", one.can_be_reached()},
                         {"linked", NameOf(one.place)},
                         {"new_strings", one.new_strings},
                         {"rtti", one.rtti}});
      }
      console.PrintJson(Json{{"program", look.path},
                             {"rocksdb", std::move(found)},
                             {"plugin", plugin ? *plugin : ""},
                             {"advice", advice}});
    } else {
      std::string text = Printable(look.path) + "\n";
      for (const RocksDbLook& one : look.found) text += "  " + Printable(Describe(one)) + "\n";
      if (look.found.empty()) text += "  no RocksDB\n";
      text += "  plugin: " + Printable(plugin ? *plugin : plugin.error().text()) + "\n";
      console.Print(text + PrintableLines(advice));
    }
    const bool reached = !look.found.empty() && std::ranges::all_of(look.found, &RocksDbLook::can_be_reached);
    return reached ? 0 : kProblems;
  }

 private:
  Result<int> LookAtHost(Console& console) const {
    std::vector<Observation> seen{LookAtPlugin(), LookAtSharedMemory(), LookAtRing(), LookAtFileSizeLimit()};
    for (Observation& device : LookAtDrives()) seen.push_back(std::move(device));
    const bool well = std::ranges::all_of(seen, [](const Observation& one) { return one.cure.empty(); });
    Json list = Json::array();
    std::string text;
    for (const Observation& one : seen) {
      list.push_back({{"what", one.what}, {"found", one.found}, {"cure", one.cure}});
      text += fmt::format("{} {}: {}\n", one.cure.empty() ? "ok  " : "look", Printable(one.what),
                          Printable(one.found));
      if (!one.cure.empty()) text += fmt::format("       {}\n", Printable(one.cure));
    }
    if (json_) {
      console.PrintJson(Json{{"host", std::move(list)}});
    } else {
      console.Print(text);
    }
    return well ? 0 : kProblems;
  }

  Status VisitVolume(Console& console, const VisitFile& visit) const {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(*volume, ""));
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
      if (entry == nullptr) return {};
      if (!entry->stat.is_directory && walk.fits()) visit("/" + walk.relative(), entry->stat.size);
    }
  }

  static void VisitHost(const std::string& directory, const VisitFile& visit) {
    std::error_code error;
    std::filesystem::recursive_directory_iterator walk(
        directory, std::filesystem::directory_options::skip_permission_denied, error);
    for (; !error && walk != std::filesystem::recursive_directory_iterator(); walk.increment(error)) {
      std::error_code ignored;
      if (!walk->is_regular_file(ignored) || walk->is_symlink(ignored)) continue;
      const std::filesystem::path name = walk->path().filename();
      const std::uint64_t size = walk->file_size(ignored);
      if (name == "ZENFS" || (name == "LOCK" && size == 0))
        continue;  // in each directory with files in the volume
      visit(walk->path().native(), size);
    }
  }

  Result<int> RunProgram(Console& console) const {
    if (words_.empty())
      return Fail(Code::kInvalidArgument,
                  "--run needs a program: zenfs doctor --run --emu=PATH -- PROGRAM ARGUMENTS");
    ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, device_.Uri(OpenMode::kExclusive));
    FileChanges in_volume;
    ZENFS_RETURN_IF_ERROR(VisitVolume(console, in_volume.Before()));
    std::error_code error;
    const std::string prefix = prefix_.empty() ? std::filesystem::current_path(error).string()
                                               : std::filesystem::canonical(prefix_, error).string();
    if (error) return Fail(ErrnoError(error.value(), prefix_));
    FileChanges on_host;
    VisitHost(prefix, on_host.Before());
    const pid_t child = ::fork();
    if (child == 0) Become("zenfs://" + Canonical(uri), prefix);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child)
      return FailErrno(errno, "the program could not be started");
    ZENFS_RETURN_IF_ERROR(VisitVolume(console, in_volume.After()));
    VisitHost(prefix, on_host.After());
    const std::string ended = WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                                  : fmt::format("ended with {}", WEXITSTATUS(status));
    console.Print(fmt::format("{}: {}\n", Printable(words_[0]), ended) + in_volume.Line("in the volume") +
                  on_host.Line("on the host below " + prefix));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  [[noreturn]] void Become(const std::string& uri, const std::string& prefix) const {
    ::setenv("ZENFS_DEFAULT_URI", uri.c_str(), 1);
    ::setenv("ZENFS_DEFAULT_PREFIX", prefix.c_str(), 1);
    ::setenv("LD_PRELOAD", PluginBesideCommand().c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words_) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const std::string line =
        fmt::format("zenfs doctor: {}: {}\n", Printable(words_[0]), std::strerror(errno));
    [[maybe_unused]] const ssize_t bytes = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(127);
  }

  DeviceOption device_;
  std::vector<std::string> words_;
  std::string prefix_;
  bool run_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDoctor(CLI::App& app) { return MakeAction<DoctorAction>(app); }

}  // namespace zenfs
