// A RocksDB that ZenFS does not reach: linked statically, or with hidden symbols. It asks nobody for its default Env, so with
// ZENFS_DEFAULT_URI it would write to the host without a word.
//
// At the end of such a process one line says so. With ZENFS_REQUIRED=1 it ends when it creates a file LOCK below the prefix
// on the host, the first thing that RocksDB does with a database: ZenFS itself never creates one there. For this the
// library also stands before open(2), which costs a look at a flag.
//
// Threads: any.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb_plugin/default_device.h"
#include "rocksdb_plugin/default_file_system.h"
#include "rocksdb_plugin/print_line.h"

namespace zenfs {

namespace {

// The name of a property, which every RocksDB has. In two parts, so that this library is not found by it.
std::string TraceOfRocksDb() { return std::string("num-immutable-mem") + "-table-flushed"; }

const void* BaseOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

struct Search {
  std::string trace = TraceOfRocksDb();
  const void* reached = nullptr;  // the RocksDB that ZenFS is linked to
  std::string found;
};

int LookInto(dl_phdr_info* object, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const bool is_program = object->dlpi_name == nullptr || object->dlpi_name[0] == '\0';
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || (header.p_flags & PF_W) != 0) continue;
    const auto* const begin = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    if (BaseOf(begin) == search.reached) return 0;
    if (memmem(begin, header.p_memsz, search.trace.data(), search.trace.size()) == nullptr) continue;
    search.found = is_program ? program_invocation_name : object->dlpi_name;
    return 1;
  }
  return 0;
}

// The object with a RocksDB that ZenFS does not reach; empty if there is none.
std::string HiddenRocksDb() {
  Search search;
  search.reached = BaseOf(reinterpret_cast<const void*>(&rocksdb::ObjectLibrary::Default));
  dl_iterate_phdr(LookInto, &search);
  return search.found;
}

[[gnu::destructor]] void TellOfHiddenRocksDb() {
  if (EnvironmentVariable("ZENFS_DEFAULT_URI").empty() || DefaultFileSystem::WasUsed()) return;
  const std::string found = HiddenRocksDb();
  if (found.empty()) return;
  PrintLine(fmt::format(
      "ZENFS_DEFAULT_URI had no effect: the RocksDB in {} can't be reached, and its files are on the host; "
      "see 'zenfs doctor {}'",
      found, found));
}

// Ends the process if `path` is a database below the prefix.
void RefuseDatabaseOnHost(const char* path, int flags) {
  static const bool required = EnvironmentVariable("ZENFS_REQUIRED") == "1";
  if (!required || (flags & O_CREAT) == 0 || path == nullptr) return;
  const std::string_view name = path;
  if (name != "LOCK" && !name.ends_with("/LOCK")) return;
  const Result<std::optional<DefaultDevice>> device = DefaultDeviceOfEnvironment();
  if (device && !device->has_value()) return;
  if (device) {
    const Result<std::string> absolute = PathOnHost(std::string(name));
    if (absolute && !(*device)->Covers(*absolute)) return;
  }
  if (HiddenRocksDb().empty()) return;  // somebody else's LOCK
  PrintLine(fmt::format(
      "ZENFS_REQUIRED is set, and a RocksDB that can't be reached opens a database on the host: {}", name));
  std::_Exit(EXIT_FAILURE);
}

template <typename Function>
Function* Next(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

mode_t ModeIn(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

}  // namespace zenfs

extern "C" {

[[gnu::visibility("default")]] int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = zenfs::ModeIn(flags, arguments);
  va_end(arguments);
  zenfs::RefuseDatabaseOnHost(path, flags);
  static auto* const next = zenfs::Next<int(const char*, int, ...)>("open");
  return next(path, flags, mode);
}

[[gnu::visibility("default")]] int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = zenfs::ModeIn(flags, arguments);
  va_end(arguments);
  zenfs::RefuseDatabaseOnHost(path, flags);
  static auto* const next = zenfs::Next<int(const char*, int, ...)>("open64");
  return next(path, flags, mode);
}
}
