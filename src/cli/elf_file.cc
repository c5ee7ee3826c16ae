#include "cli/elf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/environment.h"

namespace zenfs {
namespace {

constexpr std::size_t kHeadersMax = 65536 / sizeof(Elf64_Phdr);  // as in the kernel
constexpr std::size_t kDynamicMax = 8192;
constexpr std::size_t kNeededMax = 1024;
constexpr std::size_t kStringMax = 4096;
constexpr int kChainMax = 256;  // symbols of one hash; the longest chain of real libraries has some ten

template <typename T>
std::span<char> AsBytes(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

}  // namespace

std::optional<ElfFile> ElfFile::Of(ForeignFile file, std::optional<unsigned> machine) {
  constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  Elf64_Ehdr header{};
  if (file.ReadAt(0, AsBytes(header)) != sizeof header) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kByteOrder)
    return {};
  if (machine && header.e_machine != *machine) return {};
  ElfFile elf(std::move(file), header);
  elf.ReadProgramHeaders();
  elf.ReadDynamicSection();
  return elf;
}

void ElfFile::ReadProgramHeaders() {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phoff > file_.size()) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(header_.e_phnum, kHeadersMax); ++i) {
    Elf64_Phdr part;
    if (file_.ReadAt(header_.e_phoff + i * sizeof part, AsBytes(part)) != sizeof part) return;
    if (part.p_type == PT_INTERP) needs_loader_ = true;
    if (part.p_type == PT_DYNAMIC) dynamic_ = part;
    if (part.p_type == PT_LOAD && part.p_offset < file_.size()) loaded_.push_back(part);
  }
}

void ElfFile::ReadDynamicSection() {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> soname;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
  std::vector<Elf64_Dyn> entries(std::min<std::uint64_t>(dynamic_.p_filesz / sizeof(Elf64_Dyn), kDynamicMax));
  const std::size_t bytes = ReadMemory(
      dynamic_.p_vaddr, {reinterpret_cast<char*>(entries.data()), entries.size() * sizeof(Elf64_Dyn)});
  entries.resize(bytes / sizeof(Elf64_Dyn));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    switch (entry.d_tag) {
      case DT_NEEDED:
        if (needed.size() < kNeededMax) needed.push_back(entry.d_un.d_val);
        break;
      case DT_SONAME: soname = entry.d_un.d_val; break;
      case DT_RPATH: rpath = entry.d_un.d_val; break;
      case DT_RUNPATH: runpath = entry.d_un.d_val; break;
      case DT_STRTAB: strings_ = entry.d_un.d_ptr; break;
      case DT_STRSZ: strings_bytes_ = entry.d_un.d_val; break;
      case DT_SYMTAB: symbols_ = entry.d_un.d_ptr; break;
      case DT_GNU_HASH: gnu_hash_ = entry.d_un.d_ptr; break;
      case DT_HASH: hash_ = entry.d_un.d_ptr; break;
      default: break;
    }
  }
  for (const std::uint64_t name : needed) needed_.push_back(StringAt(name));
  if (soname) soname_ = StringAt(*soname);
  if (rpath) rpath_ = StringAt(*rpath);
  if (runpath) runpath_ = StringAt(*runpath);
}

std::size_t ElfFile::ReadMemory(std::uint64_t address, std::span<char> into) const {
  for (const Elf64_Phdr& part : loaded_) {
    if (address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz) continue;
    const std::uint64_t inside = address - part.p_vaddr;
    if (inside >= file_.size() - part.p_offset) return 0;
    return file_.ReadAt(part.p_offset + inside,
                        into.first(std::min<std::uint64_t>(into.size(), part.p_filesz - inside)));
  }
  return 0;
}

template <typename T>
std::optional<T> ElfFile::ValueAt(std::uint64_t address) const {
  T value;
  if (ReadMemory(address, AsBytes(value)) != sizeof value) return {};
  return value;
}

std::string ElfFile::StringAt(std::uint64_t offset) const {
  if (offset >= strings_bytes_) return {};
  std::string text(std::min<std::uint64_t>(strings_bytes_ - offset, kStringMax), '\0');
  text.resize(ReadMemory(strings_ + offset, text));
  const std::size_t end = text.find('\0');
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

Result<bool> ElfFile::HasConstant(std::string_view text, std::uint64_t& bytes_left) const {
  for (const Elf64_Phdr& part : loaded_) {
    if ((part.p_flags & PF_W) != 0) continue;
    const std::uint64_t bytes = std::min(part.p_filesz, file_.size() - part.p_offset);
    ZENFS_ASSIGN_OR_RETURN(const bool found, file_.Search(text, part.p_offset, part.p_offset + bytes,
                                                          bytes_left, [](std::string_view) { return true; }));
    if (found) return true;
  }
  return false;
}

std::optional<std::uint64_t> ElfFile::FindExport(std::string_view name) const {
  if (symbols_ == 0) return {};
  return gnu_hash_ != 0 ? FindByGnuHash(name) : hash_ != 0 ? FindByHash(name) : std::nullopt;
}

bool ElfFile::IsExport(std::uint64_t index, std::string_view name, std::uint64_t& address) const {
  const auto symbol = ValueAt<Elf64_Sym>(symbols_ + index * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF || StringAt(symbol->st_name) != name) return false;
  address = symbol->st_value;
  return true;
}

// The table: number of buckets, index of the first symbol in it, words of a Bloom filter, its shift; the filter; a symbol for each bucket; for
// each symbol its hash, of which bit 0 ends the bucket.
std::optional<std::uint64_t> ElfFile::FindByGnuHash(std::string_view name) const {
  struct Head {
    std::uint32_t buckets, first, filter_words, filter_shift;
  };
  const auto head = ValueAt<Head>(gnu_hash_);
  if (!head || head->buckets == 0) return {};
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const std::uint64_t buckets = gnu_hash_ + sizeof(Head) + std::uint64_t{head->filter_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{head->buckets} * 4;
  const auto bucket = ValueAt<std::uint32_t>(buckets + std::uint64_t{hash % head->buckets} * 4);
  if (!bucket || *bucket < head->first) return {};
  std::uint64_t index = *bucket;
  for (int i = 0; i < kChainMax; ++i, ++index) {
    const auto link = ValueAt<std::uint32_t>(chains + (index - head->first) * 4);
    if (!link) return {};
    std::uint64_t address = 0;
    if ((*link | 1) == (hash | 1) && IsExport(index, name, address)) return address;
    if ((*link & 1) != 0) return {};
  }
  return {};
}

// The table: number of buckets, number of symbols; a symbol for each bucket; for each symbol the next one of its bucket.
std::optional<std::uint64_t> ElfFile::FindByHash(std::string_view name) const {
  const auto buckets = ValueAt<std::uint32_t>(hash_);
  if (!buckets || *buckets == 0) return {};
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  const std::uint64_t table = hash_ + 8;
  auto index = ValueAt<std::uint32_t>(table + std::uint64_t{hash % *buckets} * 4);
  for (int i = 0; i < kChainMax && index && *index != 0; ++i) {
    std::uint64_t address = 0;
    if (IsExport(*index, name, address)) return address;
    index = ValueAt<std::uint32_t>(table + (std::uint64_t{*buckets} + *index) * 4);
  }
  return {};
}

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
