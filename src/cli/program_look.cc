#include "cli/program_look.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "cli/elf_file.h"

namespace zenfs {

namespace {

constexpr std::uint64_t kSearchedMax = std::uint64_t{2} << 30;
constexpr std::size_t kInterpreterMax = 254;

// The name of a property, which every RocksDB has, and its default file system, which those export that can be reached.
constexpr std::string_view kTrace = "num-immutable-mem-table-flushed";
constexpr std::string_view kDefaultEnv = "_ZN7rocksdb3Env7DefaultEv";
// What those of them have that are built with the newer std::string, and with type information (cmake/rocksdb.cmake).
constexpr std::string_view kWithNewStrings = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
constexpr std::string_view kWithRtti = "_ZTIN7rocksdb10FileSystemE";
constexpr std::string_view kJar = "rocksdbjni-";
constexpr std::string_view kNativeLibrary = "librocksdbjni-linux64.so";

// As execvp(3) does.
std::string SearchInPath(const std::string& name) {
  std::string_view rest = EnvironmentVariable("PATH");
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
    std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return {};
}

// The version at the begin of `text`, as in 7.9.2-linux64.jar; nothing if there is none of three numbers.
std::string VersionAt(std::string_view text) {
  text = text.substr(0, std::min(text.find_first_not_of("0123456789."), std::size_t{16}));
  while (text.ends_with('.')) text.remove_suffix(1);
  return std::ranges::count(text, '.') == 2 ? std::string(text) : "";
}

// The name of the file that `path` leads to.
std::string FileName(const std::string& path) {
  std::error_code error;
  return std::filesystem::canonical(path, error).filename();
}

// Java's library returns its version as a constant: `mov $0x70902,%eax; ret` is 7.9.2.
std::string VersionOfJavaLibrary(const ElfFile& library) {
  const std::optional<std::uint64_t> function = library.FindExport("Java_org_rocksdb_RocksDB_version");
  if (!function || library.machine() != EM_X86_64) return "";
  std::string code(16, '\0');
  code.resize(library.ReadMemory(*function, code));
  if (code.starts_with("\xf3\x0f\x1e\xfa")) code.erase(0, 4);  // endbr64
  if (code.size() < 6 || code[0] != '\xb8' || code[4] != '\0' || code[5] != '\xc3') return "";
  const auto number = [&code](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(code[at]));
  };
  return fmt::format("{}.{}.{}", number(3), number(2), number(1));
}

std::string VersionOfLibrary(const ElfFile& library) {
  const std::string name = FileName(library.file().path());
  constexpr std::string_view kEnd = ".so.";
  const std::size_t at = name.find(kEnd);
  if (at != std::string::npos) {
    if (std::string version = VersionAt(std::string_view(name).substr(at + kEnd.size())); !version.empty())
      return version;
  }
  return VersionOfJavaLibrary(library);
}

class Look {
 public:
  explicit Look(std::string path) { look_.path = std::move(path); }

  Result<ProgramLook> Take() {
    ZENFS_ASSIGN_OR_RETURN(ForeignFile file, ForeignFile::Open(look_.path));
    std::string begin(2 + kInterpreterMax, '\0');
    begin.resize(file.ReadAt(0, begin));
    if (begin.starts_with("#!")) {
      look_.kind = ProgramLook::Kind::kScript;
      look_.interpreter = begin.substr(2, begin.find('\n') - 2);
    } else if (begin.starts_with("PK\3\4")) {
      look_.kind = ProgramLook::Kind::kArchive;
      ZENFS_RETURN_IF_ERROR(LookIntoArchive(file));
    } else if (const std::optional<ElfFile> elf = ElfFile::Of(std::move(file))) {
      look_.kind = elf->is_library() ? ProgramLook::Kind::kLibrary : ProgramLook::Kind::kProgram;
      ZENFS_RETURN_IF_ERROR(LookInto(*elf, elf->is_library()));
      ZENFS_RETURN_IF_ERROR(
          VisitNeededLibraries(*elf, [this](const ElfFile& library) { return LookInto(library, true); }));
    } else {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: neither a program of this machine nor an archive or script", look_.path));
    }
    return std::move(look_);
  }

 private:
  Status LookInto(const ElfFile& elf, bool is_library) {
    ZENFS_ASSIGN_OR_RETURN(const bool found, elf.HasConstant(kTrace, bytes_left_));
    if (!found) return {};
    if (!elf.FindExport(kDefaultEnv)) {
      Add(elf.file(), "", RocksDbLook::Place::kHidden);
      return {};
    }
    if (is_library) {
      Add(elf.file(), VersionOfLibrary(elf), RocksDbLook::Place::kShared);
    } else {
      Add(elf.file(), "", RocksDbLook::Place::kVisible);
    }
    look_.found.back().new_strings = elf.FindExport(kWithNewStrings).has_value();
    look_.found.back().rtti = elf.FindExport(kWithRtti).has_value();
    return {};
  }

  // Names of jars are not compressed, neither in the archive that is one nor in one that contains others.
  Status LookIntoArchive(const ForeignFile& file) {
    std::string version;
    const auto take = [&version](std::string_view jar) {
      version = VersionAt(jar.substr(kJar.size()));
      return !version.empty();
    };
    const std::string name = FileName(look_.path);
    bool found = name.starts_with(kJar) && take(name);
    if (!found) {
      ZENFS_ASSIGN_OR_RETURN(found, file.Search(kJar, 0, file.size(), bytes_left_, take));
    }
    if (!found) {
      ZENFS_ASSIGN_OR_RETURN(found, file.Search(kNativeLibrary, 0, file.size(), bytes_left_,
                                                [](std::string_view) { return true; }));
    }
    if (found) Add(file, std::move(version), RocksDbLook::Place::kArchive);
    return {};
  }

  void Add(const ForeignFile& file, std::string version, RocksDbLook::Place place) {
    look_.found.push_back({.object = file.path(), .version = std::move(version), .place = place});
  }

  ProgramLook look_;
  std::uint64_t bytes_left_ = kSearchedMax;
};

}  // namespace

Result<ProgramLook> LookAtProgram(const std::string& program) {
  const std::string path = program.find('/') != std::string::npos ? program : SearchInPath(program);
  if (path.empty()) {
    return Fail(
        Code::kNotFound,
        fmt::format("{}: no such program in PATH; for a file of this directory type ./{}", program, program));
  }
  return Look(path).Take();
}

}  // namespace zenfs
