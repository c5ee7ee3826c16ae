// Registers ideal:// with the RocksDB of the program that loads this library, as src/rocksdb_plugin
// does for zenfs://.
#include <map>

#include "base/mutex.h"
#include "file_system.h"
#include "rocksdb/utilities/object_registry.h"

namespace zenfs {
namespace {

rocksdb::FileSystem* NewFileSystem(const std::string& uri, std::unique_ptr<rocksdb::FileSystem>* guard,
                                   std::string* message) {
  if (const auto mismatch = VersionMismatch(rocksdb::GetRocksVersionAsString(/*with_patch=*/true))) {
    *message = *mismatch;
    return nullptr;
  }
  auto made = IdealFileSystemOfUri(uri);
  if (!made) {
    *message = "ideal: " + made.error().ToString();
    return nullptr;
  }
  *guard = *std::move(made);
  return guard->get();
}

// RocksDB's option strings accept only an Env that nobody has to delete: one per URI, never
// destroyed.
rocksdb::Env* FindEnv(const std::string& uri, std::unique_ptr<rocksdb::Env>*, std::string* message) {
  static auto* const mutex = new Mutex();
  static auto* const known = new std::map<std::string, std::unique_ptr<rocksdb::Env>>();
  MutexLock lock(*mutex);
  std::unique_ptr<rocksdb::Env>& env = (*known)[uri];
  if (env != nullptr) return env.get();
  std::unique_ptr<rocksdb::FileSystem> made;
  if (NewFileSystem(uri, &made, message) != nullptr) env = rocksdb::NewCompositeEnv(std::move(made));
  return env.get();
}

[[maybe_unused]] const bool registered_when_loaded = [] {
  const auto pattern = [] {
    return rocksdb::ObjectLibrary::PatternEntry("ideal", /*optional=*/false)
        .AddSeparator("://", /*at_least_one=*/false);
  };
  rocksdb::ObjectLibrary& library = *rocksdb::ObjectLibrary::Default();
  library.AddFactory<rocksdb::FileSystem>(pattern(), NewFileSystem);
  library.AddFactory<rocksdb::Env>(pattern(), FindEnv);
  return true;
}();

}  // namespace
}  // namespace zenfs
