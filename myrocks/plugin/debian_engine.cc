#include "debian_engine.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs::myrocks {

namespace {

// The library that the RocksDB of this process is in. A symbol of the same name in this library hides the engine's from
// a search that starts at the program, so the engine is searched alone.
Result<void*> HandleOfEngine() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&rocksdb::GetRocksVersionAsString), &info) == 0)
    return Fail(Code::kNotFound, "the library with RocksDB is unknown to the dynamic loader");
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr)
    return Fail(Code::kNotFound,
                fmt::format("{} can't be searched for symbols: {}", info.dli_fname, dlerror()));
  return handle;
}

template <typename T>
Result<T*> Find(void* handle, const char* name) {
  if (void* found = dlsym(handle, name)) return static_cast<T*>(found);
  return Fail(Code::kNotSupported,
              fmt::format("the library with RocksDB is not MariaDB's ha_rocksdb.so: it has no {}", name));
}

std::span<const st_maria_plugin> UntilTheEmptyOne(const st_maria_plugin* first) {
  std::size_t count = 0;
  while (first[count].info != nullptr) ++count;
  return {first, count};
}

}  // namespace

Result<DebianEngine> FindDebianEngine() {
  if (const auto mismatch = VersionMismatch(rocksdb::GetRocksVersionAsString(/*with_patch=*/true)))
    return Fail(Code::kNotSupported, *mismatch);
  ZENFS_ASSIGN_OR_RETURN(void* const handle, HandleOfEngine());
  ZENFS_ASSIGN_OR_RETURN(const int* const interface_version,
                         Find<const int>(handle, "_maria_plugin_interface_version_"));
  ZENFS_ASSIGN_OR_RETURN(const int* const size, Find<const int>(handle, "_maria_sizeof_struct_st_plugin_"));
  ZENFS_ASSIGN_OR_RETURN(const st_maria_plugin* const first,
                         Find<const st_maria_plugin>(handle, "_maria_plugin_declarations_"));
  if (*size != sizeof(st_maria_plugin) || *interface_version >> 8 != MARIA_PLUGIN_INTERFACE_VERSION >> 8)
    return Fail(Code::kNotSupported,
                fmt::format("built for plugin interface {:#x} of MariaDB, but ha_rocksdb.so has {:#x}; build "
                            "ha_rocksdb_fs.so again for this MariaDB",
                            MARIA_PLUGIN_INTERFACE_VERSION, *interface_version));
  return DebianEngine{.interface_version = *interface_version, .plugins = UntilTheEmptyOne(first)};
}

char** FindStringVariable(const st_maria_plugin& plugin, std::string_view name) {
  struct StringVariable {  // as MYSQL_SYSVAR_STR lays it out
    MYSQL_PLUGIN_VAR_HEADER;
    char** value;
  };
  for (st_mysql_sys_var** each = plugin.system_vars; each != nullptr && *each != nullptr; ++each) {
    const auto* variable = reinterpret_cast<const StringVariable*>(*each);
    const bool is_string =
        (variable->flags & 0x7f) == PLUGIN_VAR_STR && (variable->flags & PLUGIN_VAR_THDLOCAL) == 0;
    if (is_string && variable->name == name) return variable->value;
  }
  return nullptr;
}

}  // namespace zenfs::myrocks
