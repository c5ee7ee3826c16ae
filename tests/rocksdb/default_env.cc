// A library to preload into programs that know only the default file system: in it rocksdb::Env::Default() and
// rocksdb::FileSystem::Default() are those of the URI in the environment's ZENFS_DEFAULT_FS_URI. Without that
// variable, and for what RocksDB asks while the file system is being opened, they are RocksDB's own.
//
// When the process exits both are RocksDB's own again: what is destroyed after that (Env's threads, singletons of
// a test) may look for them when nothing of ours can be used any more. The volume stays mounted to the end.
// realpath(3) too answers for the volume when it has the path: ChrootFileSystem asks it about the files of the file
// system below it.
// Threads: any; the first caller opens the file system, others wait for it.
#include <dlfcn.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Replacement {
  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::FileSystem> file_system;
};

std::atomic<bool> exiting{false};
thread_local bool opening = false;

[[noreturn]] void Die(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::_Exit(EXIT_FAILURE);
}

// Kept to the end of the process, like RocksDB's own.
Replacement* Open(const char* uri) {
  opening = true;
  auto* made = new Replacement;
  const rocksdb::Status opened = rocksdb::FileSystem::CreateFromString({}, uri, &made->file_system);
  if (!opened.ok()) Die(uri, opened.ToString().c_str());
  made->env = rocksdb::NewCompositeEnv(made->file_system).release();
  opening = false;
  std::atexit([] { exiting = true; });
  return made;
}

// Null when RocksDB's own is to be used.
const Replacement* Current() {
  if (opening || exiting) return nullptr;
  static const char* const uri = std::getenv("ZENFS_DEFAULT_FS_URI");
  if (uri == nullptr) return nullptr;
  static const Replacement* const replacement = Open(uri);
  return replacement;
}

// What the next library in the search order defines under the same (mangled) name.
template <typename Function>
Function* Next(const char* symbol) {
  void* found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) Die(symbol, "librocksdb does not define it");
  return reinterpret_cast<Function*>(found);
}

}  // namespace

// All else in this library is hidden.
#define EXPORTED [[gnu::visibility("default")]]

namespace rocksdb {

EXPORTED Env* Env::Default() {
  static auto* const own = Next<Env*()>("_ZN7rocksdb3Env7DefaultEv");
  const Replacement* ours = Current();
  return ours != nullptr ? ours->env : own();
}

EXPORTED std::shared_ptr<FileSystem> FileSystem::Default() {
  static auto* const own = Next<std::shared_ptr<FileSystem>()>("_ZN7rocksdb10FileSystem7DefaultEv");
  const Replacement* ours = Current();
  return ours != nullptr ? ours->file_system : own();
}

}  // namespace rocksdb

extern "C" EXPORTED char* realpath(const char* path, char* resolved) noexcept {
  static auto* const own = Next<char*(const char*, char*)>("realpath");
  const Replacement* ours = path != nullptr && resolved == nullptr ? Current() : nullptr;
  std::string absolute;
  if (ours != nullptr && ours->file_system->FileExists(path, {}, nullptr).ok() &&
      ours->file_system->GetAbsolutePath(path, {}, &absolute, nullptr).ok()) {
    return strdup(absolute.c_str());
  }
  return own(path, resolved);
}
