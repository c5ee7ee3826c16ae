#include "rocksdb_plugin/registration.h"

#include <exception>
#include <memory>
#include <string>

#include "rocksdb/utilities/object_registry.h"
#include "rocksdb_plugin/environments.h"
#include "rocksdb_plugin/file_system_of_uri.h"
#include "rocksdb_plugin/rocksdb_version.h"

#define ZENFS_STRINGIFY_INNER(x) #x
#define ZENFS_STRINGIFY(x) ZENFS_STRINGIFY_INNER(x)

namespace zenfs {

namespace {

// RocksDB turns a null pointer into InvalidArgument with `message`, and adds the URI. Its callers print that
// line.
template <typename Object, typename Make>
Object* MakeOrExplain(std::string* message, Make&& make) noexcept {
  try {
    if (const auto mismatch = VersionMismatch(rocksdb::GetRocksVersionAsString(/*with_patch=*/true))) {
      *message = *mismatch;
      return nullptr;
    }
    const Result<Object*> made = make();
    if (made) return *made;
    *message = "zenfs: " + made.error().ToString();
  } catch (const std::exception& exception) {
    message->assign("zenfs: ").append(exception.what());
  } catch (...) {
    message->assign("zenfs: unknown exception");
  }
  return nullptr;
}

rocksdb::FileSystem* NewFileSystem(const std::string& uri, std::unique_ptr<rocksdb::FileSystem>* guard,
                                   std::string* message) {
  return MakeOrExplain<rocksdb::FileSystem>(message, [&]() -> Result<rocksdb::FileSystem*> {
    ZENFS_ASSIGN_OR_RETURN(*guard, FileSystemOfUri(uri));
    return guard->get();
  });
}

// Without a guard: RocksDB's option strings accept only an Env that nobody has to delete.
rocksdb::Env* FindEnv(const std::string& uri, std::unique_ptr<rocksdb::Env>* guard, std::string* message) {
  guard->reset();
  return MakeOrExplain<rocksdb::Env>(message, [&] { return EnvironmentOf(uri); });
}

void RegisterFactories() {
  const auto pattern = [] {
    return rocksdb::ObjectLibrary::PatternEntry("zenfs", /*optional=*/false)
        .AddSeparator("://", /*at_least_one=*/false);
  };
  rocksdb::ObjectLibrary& library = *rocksdb::ObjectLibrary::Default();
  library.AddFactory<rocksdb::FileSystem>(pattern(), NewFileSystem);
  library.AddFactory<rocksdb::Env>(pattern(), FindEnv);
}

[[maybe_unused]] const bool registered_when_loaded = [] {
  zenfs_register();
  return true;
}();

}  // namespace

}  // namespace zenfs

void zenfs_register() {
  [[maybe_unused]] static const bool once = [] {
    try {
      zenfs::RegisterFactories();
    } catch (...) {  // out of memory while the process is loading: the scheme stays unknown
    }
    return true;
  }();
}

const char* zenfs_plugin_version() {
  return ZENFS_VERSION " for RocksDB " ZENFS_STRINGIFY(ROCKSDB_MAJOR) "." ZENFS_STRINGIFY(
      ROCKSDB_MINOR) "." ZENFS_STRINGIFY(ROCKSDB_PATCH);
}
