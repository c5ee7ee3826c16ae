#include "cli/program_look.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "base/unique_fd.h"

namespace zenfs {

namespace {

constexpr unsigned kChildSeconds = 30;
constexpr std::size_t kAnswerMax = 64 << 10;

// The name of a property, which every RocksDB has, and its default file system, which those export that can be reached.
constexpr std::string_view kTrace = "num-immutable-mem-table-flushed";
constexpr std::string_view kJar = "rocksdbjni-";
constexpr const char* kDefaultEnv = "_ZN7rocksdb3Env7DefaultEv";

// A file in memory, read-only.
class FileBytes {
 public:
  static Result<FileBytes> Open(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st{};
    if (!fd.valid() || ::fstat(fd.get(), &st) != 0) return FailErrno(errno, path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
      return Fail(Code::kInvalidArgument, path + ": not a program");
    void* const mapped =
        ::mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED) return FailErrno(errno, path);
    return FileBytes({static_cast<const char*>(mapped), static_cast<std::size_t>(st.st_size)});
  }
  FileBytes(FileBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileBytes& operator=(FileBytes&&) = delete;
  ~FileBytes() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  std::string_view bytes() const { return bytes_; }
  bool Contains(std::string_view text) const {
    return ::memmem(bytes_.data(), bytes_.size(), text.data(), text.size()) != nullptr;
  }

 private:
  explicit FileBytes(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes_;
};

// Runs `body` in a child process with its standard output in a pipe, and returns what it wrote. Nothing if it was killed or said nothing.
// The pipe is no UniqueFd: a child could not use that.
std::string AskChild(const std::function<void()>& body) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kChildSeconds);
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    body();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string answer;
  char piece[4096];
  ssize_t bytes = 0;
  while (child > 0 && answer.size() < kAnswerMax && (bytes = ::read(pipe_ends[0], piece, sizeof piece)) > 0)
    answer.append(piece, static_cast<std::size_t>(bytes));
  ::close(pipe_ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return answer;
}

void Say(std::string_view text) {
  [[maybe_unused]] const ssize_t bytes = ::write(STDOUT_FILENO, text.data(), text.size());
}

// In the child: the version of the RocksDB that `library` exports; nothing if it exports none.
void SayVersionOf(const std::string& library) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (loaded == nullptr || ::dlsym(loaded, kDefaultEnv) == nullptr) return;
  Say("exported ");
  if (void* const function = ::dlsym(loaded, "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb")) {
    Say(reinterpret_cast<std::string (*)(bool)>(function)(true));
  } else if (void* const old = ::dlsym(loaded, "_ZN7rocksdb23GetRocksVersionAsStringEb")) {
    // A string of the old ABI is one pointer, returned in memory like any class.
    struct OldString {
      const char* text;
      OldString() : text(nullptr) {}
      OldString(const OldString& other) : text(other.text) {}
    };
    Say(reinterpret_cast<OldString (*)(bool)>(old)(true).text);
  }
}

std::string SearchInPath(const std::string& name) {
  std::string_view rest = EnvironmentVariable("PATH");
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
    std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

// Whether the loader starts it, with its libraries. False for a library and for a static program.
bool NeedsLoader(std::string_view bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size()) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t place = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (place + sizeof(Elf64_Phdr) > bytes.size()) return false;
    Elf64_Phdr part;
    std::memcpy(&part, bytes.data() + place, sizeof part);
    if (part.p_type == PT_INTERP) return true;
  }
  return false;
}

// From lines "name => /path (0xaddress)", and the loader's "/path (0xaddress)".
std::vector<std::string> LibrariesOf(const std::string& path) {
  const std::string said =
      AskChild([&] { ::execlp("ldd", "ldd", path.c_str(), static_cast<char*>(nullptr)); });
  std::vector<std::string> libraries;
  for (std::string_view rest = said; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t begin = line.find('/');
    const std::size_t end = line.rfind(" (0x");
    if (begin != std::string_view::npos && end != std::string_view::npos && begin < end)
      libraries.emplace_back(line.substr(begin, end - begin));
  }
  return libraries;
}

// The RocksDB in a library; nothing if there is none.
std::optional<RocksDbLook> LookAtLibrary(const std::string& path) {
  const Result<FileBytes> file = FileBytes::Open(path);
  if (!file || !file->Contains(kTrace)) return {};
  const std::string said = AskChild([&] { SayVersionOf(path); });
  RocksDbLook look{.object = path, .version = {}, .place = RocksDbLook::Place::kHidden};
  constexpr std::string_view kExported = "exported ";
  if (said.starts_with(kExported)) {
    look.place = RocksDbLook::Place::kShared;
    look.version = said.substr(kExported.size());
  }
  return look;
}

void LookAtElf(const FileBytes& file, ProgramLook& look) {
  if (NeedsLoader(file.bytes())) {
    look.kind = ProgramLook::Kind::kProgram;
    if (file.Contains(kTrace)) look.found.push_back({look.path, {}, RocksDbLook::Place::kHidden});
    for (const std::string& library : LibrariesOf(look.path)) {
      if (std::optional<RocksDbLook> found = LookAtLibrary(library)) look.found.push_back(*std::move(found));
    }
    return;
  }
  Elf64_Ehdr header;
  std::memcpy(&header, file.bytes().data(), sizeof header);
  look.kind = header.e_type == ET_DYN ? ProgramLook::Kind::kLibrary : ProgramLook::Kind::kProgram;
  if (look.kind == ProgramLook::Kind::kProgram) {
    if (file.Contains(kTrace)) look.found.push_back({look.path, {}, RocksDbLook::Place::kHidden});
  } else if (std::optional<RocksDbLook> found = LookAtLibrary(look.path)) {
    look.found.push_back(*std::move(found));
  }
}

// The version in a name such as rocksdbjni-7.9.2-linux64.jar, which begins at `name`; nothing if it is another name.
std::string VersionOfJar(std::string_view name) {
  const std::size_t end = name.find_first_not_of("0123456789.", kJar.size());
  std::string version(name.substr(kJar.size(), end == std::string_view::npos ? end : end - kJar.size()));
  while (version.ends_with('.')) version.pop_back();
  return std::ranges::count(version, '.') == 2 ? version : "";
}

// Names of jars are not compressed, neither in the archive that is one nor in one that contains others.
void LookAtArchive(const FileBytes& file, ProgramLook& look) {
  const std::string own = look.path.substr(look.path.rfind('/') + 1);
  for (const std::string_view bytes : {std::string_view(own), file.bytes()}) {
    for (std::size_t at = bytes.find(kJar); at != std::string_view::npos; at = bytes.find(kJar, at + 1)) {
      const std::string version = VersionOfJar(bytes.substr(at, 32));
      if (version.empty()) continue;
      look.found.push_back({look.path, version, RocksDbLook::Place::kArchive});
      return;
    }
  }
  if (file.Contains("librocksdbjni-linux64.so"))
    look.found.push_back({look.path, {}, RocksDbLook::Place::kArchive});
}

}  // namespace

Result<ProgramLook> LookAtProgram(const std::string& program) {
  ProgramLook look;
  look.path = program.find('/') != std::string::npos || ::access(program.c_str(), R_OK) == 0
                  ? program
                  : SearchInPath(program);
  if (look.path.empty()) return Fail(Code::kNotFound, fmt::format("{}: no such program in PATH", program));
  if (look.path.find('/') == std::string::npos) look.path = "./" + look.path;
  ZENFS_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Open(look.path));
  const std::string_view bytes = file.bytes();
  if (bytes.starts_with("#!")) {
    look.kind = ProgramLook::Kind::kScript;
    look.interpreter = bytes.substr(2, std::min(bytes.find('\n'), std::size_t{256}) - 2);
  } else if (bytes.starts_with("PK\3\4")) {
    look.kind = ProgramLook::Kind::kArchive;
    LookAtArchive(file, look);
  } else if (bytes.starts_with(ELFMAG) && bytes.size() > sizeof(Elf64_Ehdr) &&
             bytes[EI_CLASS] == ELFCLASS64) {
    LookAtElf(file, look);
  } else {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: neither a program of this machine nor an archive or script", look.path));
  }
  return look;
}

Result<std::string> VersionOfPlugin(const std::string& library) {
  std::string said = AskChild([&] {
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const version = loaded == nullptr ? nullptr : ::dlsym(loaded, "zenfs_plugin_version");
    if (version != nullptr) return Say(reinterpret_cast<const char* (*)()>(version)());
    const char* const why = ::dlerror();
    Say("!");
    Say(why == nullptr ? "not a plugin of ZenFS" : why);
  });
  if (said.empty()) return Fail(Code::kNotFound, library + ": could not be loaded");
  if (said.starts_with('!')) return Fail(Code::kNotFound, said.substr(1));
  return said;
}

}  // namespace zenfs
