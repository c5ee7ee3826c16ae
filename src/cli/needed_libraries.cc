#include "cli/needed_libraries.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/environment.h"

namespace zenfs {

namespace {

constexpr std::size_t kLibrariesMax = 1000;
constexpr std::size_t kNamesMax = 10'000;  // of libraries, each asked for once
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

// Directories to search, as the loader gets them: "DIRECTORY:DIRECTORY". Each is expanded when it is taken, because one byte of the
// list may stand for a long path.
class SearchPath {
 public:
  // `origin`: for $ORIGIN; another variable is in no path that is found.
  SearchPath(std::string list, std::string_view separators, std::string origin)
      : list_(std::move(list)), separators_(separators), origin_(std::move(origin)) {}

  bool empty() const { return list_.empty(); }

  // Calls `visit` with each directory until it returns true or an error, and returns that.
  template <typename Visit>
  [[nodiscard]] Result<bool> Search(const Visit& visit) const {
    for (std::size_t at = 0; !list_.empty() && at != std::string::npos;) {
      const std::size_t end = list_.find_first_of(separators_, at);
      ZENFS_ASSIGN_OR_RETURN(const bool ended, visit(Expand(list_.substr(at, end - at))));
      if (ended) return true;
      at = end == std::string::npos ? end : end + 1;
    }
    return false;
  }

 private:
  // An empty name is the working directory.
  std::string Expand(std::string directory) const {
    if (directory.empty()) return ".";
    for (const std::string_view variable : {"${ORIGIN}", "$ORIGIN"}) {
      const std::size_t at = directory.find(variable);
      if (at != std::string::npos) directory.replace(at, variable.size(), origin_);
    }
    return directory;
  }

  std::string list_;
  std::string_view separators_;
  std::string origin_;
};

class Search {
 public:
  Search(const ElfFile& program, std::chrono::seconds longest)
      : machine_(program.machine()), path_(program.file().path()), deadline_(Deadline::After(longest)) {
    std::error_code error;
    Add(program, std::filesystem::canonical(path_, error).parent_path(), 0);
  }

  Status VisitAll(const std::function<Status(const ElfFile& library)>& visit) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const std::vector<const std::string*> needed = std::move(objects_[i].needed);
      for (const std::string* const name : needed) {
        if (sonames_.contains(*name)) continue;
        found_.reset();
        ZENFS_RETURN_IF_ERROR(Find(*name, i));
        if (!found_) continue;
        Add(*found_, std::filesystem::path(found_->file().path()).parent_path(), i);
        if (objects_.size() > kLibrariesMax + 1 || names_.size() > kNamesMax)
          return Fail(Code::kInvalidArgument, path_ + ": needs too many libraries");
        ZENFS_RETURN_IF_ERROR(visit(*found_));
      }
    }
    return {};
  }

 private:
  struct Object {
    std::size_t needed_by;  // 0 for the program, too
    SearchPath rpath;
    SearchPath runpath;
    std::vector<const std::string*> needed;  // in names_; only those that no object before it needs
  };

  void Add(const ElfFile& elf, const std::string& origin, std::size_t needed_by) {
    sonames_.insert(elf.soname());
    known_files_.insert(elf.file().identity());
    Object object{.needed_by = needed_by,
                  .rpath = {elf.runpath().empty() ? elf.rpath() : "", ":", origin},
                  .runpath = {elf.runpath(), ":", origin},
                  .needed = {}};
    for (const std::string& name : elf.needed()) {
      const auto [known, is_new] = names_.insert(name);
      if (is_new) object.needed.push_back(&*known);
    }
    objects_.push_back(std::move(object));
  }

  // Looks for the library `name` that object `by` needs. Sets found_ unless it is known.
  Status Find(const std::string& name, std::size_t by) {
    if (name.find('/') != std::string::npos) {
      const Result<bool> tried = Try(name);
      return tried ? Status() : Fail(tried.error());
    }
    std::vector<const SearchPath*> lists;
    if (objects_[by].runpath.empty()) {
      std::size_t object = by;
      lists.push_back(&objects_[object].rpath);
      while (object != 0) lists.push_back(&objects_[object = objects_[object].needed_by].rpath);
    }
    lists.push_back(&library_path_);
    lists.push_back(&objects_[by].runpath);
    for (const SearchPath* const list : lists) {
      ZENFS_ASSIGN_OR_RETURN(const bool found, list->Search([&](const std::string& directory) {
        return Try(directory + "/" + name);
      }));
      if (found) return {};
    }
    for (auto [entry, end] = cache_.equal_range(name); entry != end; ++entry) {
      ZENFS_ASSIGN_OR_RETURN(const bool found, Try(entry->second));
      if (found) return {};
    }
    for (const char* const directory : kDefaultDirectories) {
      ZENFS_ASSIGN_OR_RETURN(const bool found, Try(std::string(directory) + "/" + name));
      if (found) return {};
    }
    return {};
  }

  // True if a library for the program's machine is there. Then sets found_, unless it is known: no file is read for each of its names.
  Result<bool> Try(const std::string& path) {
    if (++places_ > kPlacesMax)
      return Fail(Code::kInvalidArgument, path_ + ": names too many places for its libraries");
    if (deadline_.Passed())
      return Fail(Code::kTimedOut, path_ + ": the search for its libraries takes too long");
    Result<ForeignFile> file = ForeignFile::Open(path);
    if (!file) return false;
    if (known_files_.contains(file->identity())) return true;
    found_ = ElfFile::Of(*std::move(file), machine_);
    return found_.has_value();
  }

  const unsigned machine_;
  const std::string path_;  // of the program
  const Deadline deadline_;
  std::vector<Object> objects_;  // the program first
  std::set<std::string> names_;  // that the objects need
  std::set<std::string> sonames_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> known_files_;
  std::optional<ElfFile> found_;
  int places_ = 0;
  const SearchPath library_path_{std::string(EnvironmentVariable("LD_LIBRARY_PATH")), ":;", ""};
  const std::multimap<std::string, std::string> cache_ = ReadLoaderCache();
};

}  // namespace

Status VisitNeededLibraries(const ElfFile& program,
                            const std::function<Status(const ElfFile& library)>& visit,
                            std::chrono::seconds longest) {
  return Search(program, longest).VisitAll(visit);
}

}  // namespace zenfs
