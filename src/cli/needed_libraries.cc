#include "cli/needed_libraries.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/environment.h"

namespace zenfs {

namespace {

constexpr std::size_t kLibrariesMax = 1000;
constexpr int kPlacesMax = 100'000;
constexpr const char* kCache = "/etc/ld.so.cache";
constexpr std::uint64_t kCacheBytesMax = 16 << 20;
constexpr const char* kDefaultDirectories[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

// The libraries in the directories of /etc/ld.so.conf, as ldconfig(8) wrote them down: name and path.
std::multimap<std::string, std::string> ReadLoaderCache() {
  struct Head {
    char magic[20];  // "glibc-ld.so.cache1.1"
    std::uint32_t count;
    std::uint32_t unused[6];
  };
  struct Entry {
    std::uint32_t flags, name, path, version;
    std::uint64_t variant;
  };
  static_assert(sizeof(Head) == 48 && sizeof(Entry) == 24);
  const Result<ForeignFile> file = ForeignFile::Open(kCache);
  if (!file || file->size() > kCacheBytesMax) return {};
  std::string bytes(file->size(), '\0');
  bytes.resize(file->ReadAt(0, bytes));
  // A cache for old loaders may stand before it.
  const std::size_t begin = bytes.find("glibc-ld.so.cache1.1");
  Head head;
  if (begin == std::string::npos || bytes.size() - begin < sizeof head) return {};
  bytes.erase(0, begin);
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto text = [&bytes](std::size_t at) { return at < bytes.size() ? bytes.c_str() + at : ""; };
  std::multimap<std::string, std::string> paths;
  for (std::size_t i = 0, at = sizeof head; i < head.count && bytes.size() - at >= sizeof(Entry); ++i) {
    Entry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    at += sizeof entry;
    if (entry.variant == 0) paths.emplace(text(entry.name), text(entry.path));
  }
  return paths;
}

// `list` with `separators`; an empty name is the working directory. `origin`: for $ORIGIN; another variable is in no path that is found.
std::vector<std::string> Directories(std::string_view list, std::string_view separators,
                                     const std::string& origin) {
  std::vector<std::string> directories;
  if (list.empty()) return directories;
  for (;;) {
    const std::size_t end = list.find_first_of(separators);
    std::string directory(list.substr(0, end));
    for (const std::string_view variable : {"${ORIGIN}", "$ORIGIN"}) {
      const std::size_t at = directory.find(variable);
      if (at != std::string::npos) directory.replace(at, variable.size(), origin);
    }
    directories.push_back(directory.empty() ? "." : std::move(directory));
    if (end == std::string_view::npos) return directories;
    list.remove_prefix(end + 1);
  }
}

class Search {
 public:
  explicit Search(const ElfFile& program) : machine_(program.machine()) {
    std::error_code error;
    Add(program, std::filesystem::canonical(program.file().path(), error).parent_path(), 0);
  }

  Status VisitAll(const std::function<Status(const ElfFile& library)>& visit) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const std::vector<std::string> needed = std::move(objects_[i].needed);
      for (const std::string& name : needed) {
        if (!known_names_.insert(name).second) continue;
        ZENFS_ASSIGN_OR_RETURN(const std::optional<ElfFile> library, Find(name, i));
        if (!library || !known_files_.insert(library->file().identity()).second) continue;
        if (objects_.size() > kLibrariesMax)
          return Fail(Code::kInvalidArgument, objects_[0].path + ": needs too many libraries");
        Add(*library, std::filesystem::path(library->file().path()).parent_path(), i);
        ZENFS_RETURN_IF_ERROR(visit(*library));
      }
    }
    return {};
  }

 private:
  struct Object {
    std::string path;
    std::string origin;
    std::size_t needed_by;  // 0 for the program, too
    std::vector<std::string> rpath;
    std::vector<std::string> runpath;
    std::vector<std::string> needed;
  };

  void Add(const ElfFile& elf, std::string origin, std::size_t needed_by) {
    known_names_.insert(elf.soname());
    known_files_.insert(elf.file().identity());
    Object object{.path = elf.file().path(),
                  .origin = std::move(origin),
                  .needed_by = needed_by,
                  .rpath = {},
                  .runpath = {},
                  .needed = elf.needed()};
    object.runpath = Directories(elf.runpath(), ":", object.origin);
    if (object.runpath.empty()) object.rpath = Directories(elf.rpath(), ":", object.origin);
    objects_.push_back(std::move(object));
  }

  // The library `name` that object `by` needs.
  Result<std::optional<ElfFile>> Find(const std::string& name, std::size_t by) {
    if (name.find('/') != std::string::npos) return Try(name);
    std::vector<const std::vector<std::string>*> lists;
    if (objects_[by].runpath.empty()) {
      std::size_t object = by;
      lists.push_back(&objects_[object].rpath);
      while (object != 0) lists.push_back(&objects_[object = objects_[object].needed_by].rpath);
    }
    lists.push_back(&library_path_);
    lists.push_back(&objects_[by].runpath);
    for (const auto* const list : lists) {
      for (const std::string& directory : *list) {
        ZENFS_ASSIGN_OR_RETURN(std::optional<ElfFile> found, Try(directory + "/" + name));
        if (found) return found;
      }
    }
    for (auto [entry, end] = cache_.equal_range(name); entry != end; ++entry) {
      ZENFS_ASSIGN_OR_RETURN(std::optional<ElfFile> found, Try(entry->second));
      if (found) return found;
    }
    for (const char* const directory : kDefaultDirectories) {
      ZENFS_ASSIGN_OR_RETURN(std::optional<ElfFile> found, Try(std::string(directory) + "/" + name));
      if (found) return found;
    }
    return std::optional<ElfFile>();
  }

  // Nothing if there is no library for the program's machine.
  Result<std::optional<ElfFile>> Try(const std::string& path) {
    if (++places_ > kPlacesMax)
      return Fail(Code::kInvalidArgument, objects_[0].path + ": names too many places for its libraries");
    Result<ForeignFile> file = ForeignFile::Open(path);
    if (!file) return std::optional<ElfFile>();
    std::optional<ElfFile> elf = ElfFile::Of(*std::move(file));
    if (elf && elf->machine() != machine_) elf.reset();
    return elf;
  }

  unsigned machine_;
  std::vector<Object> objects_;  // the program first
  std::set<std::string> known_names_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> known_files_;
  int places_ = 0;
  const std::vector<std::string> library_path_ =
      Directories(EnvironmentVariable("LD_LIBRARY_PATH"), ":;", "");
  const std::multimap<std::string, std::string> cache_ = ReadLoaderCache();
};

}  // namespace

Status VisitNeededLibraries(const ElfFile& program,
                            const std::function<Status(const ElfFile& library)>& visit) {
  return Search(program).VisitAll(visit);
}

}  // namespace zenfs
