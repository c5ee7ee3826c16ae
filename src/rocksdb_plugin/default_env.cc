// rocksdb::Env::Default() and rocksdb::FileSystem::Default() of a process with a default device (default_device.h): a library that
// is preloaded, or linked before RocksDB, defines them first. Without ZENFS_DEFAULT_URI they are RocksDB's own.
//
// RocksDB's own are made first, and asked for by what makes ours. When the process ends, they come back just before RocksDB's own Env is
// destroyed: its destructor compares itself with the default. What is destroyed before still has ours, because it was made later.
//
// Threads: any; the first caller makes the file system, others wait for it. Nothing is mounted here.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb_plugin/default_device.h"
#include "rocksdb_plugin/default_file_system.h"
#include "rocksdb_plugin/print_line.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

namespace {

// A program or library in memory: what it exports, without asking the loader. A thread that asks the loader waits for its lock, which
// another thread has while it loads a library, and that one may wait for this thread.
//
// Threads: any. The object must stay loaded.
class LoadedObject {
 public:
  // The one that has this address; none if none has.
  static std::optional<LoadedObject> At(const void* address);

  // The address of a function that it defines and exports; null if it does not.
  const void* Find(const char* symbol) const;

  // Whether the loader searches this one first. Call it only while the loader loads this library: then nobody loads others.
  bool IsBefore(const LoadedObject& other) const;

  bool operator==(const LoadedObject& other) const = default;

 private:
  explicit LoadedObject(const link_map* map) : map_(map) {}

  const link_map* map_;
};

// The hash table of exported symbols that GNU ld makes (DT_GNU_HASH). The symbols of a bucket follow each other; the lowest bit of the last
// one's hash is set.
class GnuHashTable {
 public:
  explicit GnuHashTable(const std::uint32_t* words)
      : buckets_(words[0]),
        first_symbol_(words[1]),
        bucket_(words + 4 + words[2] * (sizeof(ElfW(Addr)) / sizeof *words)),
        chain_(bucket_ + buckets_) {}

  template <typename Matches>
  std::optional<std::uint32_t> Find(const char* name, const Matches& matches) const {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    std::uint32_t symbol = buckets_ == 0 ? 0 : bucket_[hash % buckets_];
    if (symbol < first_symbol_) return {};
    for (;; ++symbol) {
      const std::uint32_t there = chain_[symbol - first_symbol_];
      if ((there | 1) == (hash | 1) && matches(symbol)) return symbol;
      if ((there & 1) != 0) return {};
    }
  }

 private:
  const std::uint32_t buckets_;
  const std::uint32_t first_symbol_;
  const std::uint32_t* const bucket_;
  const std::uint32_t* const chain_;
};

std::optional<LoadedObject> LoadedObject::At(const void* address) {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  return LoadedObject(found.dlfo_link_map);
}

bool LoadedObject::IsBefore(const LoadedObject& other) const {
  const link_map* map = map_;
  while (map != nullptr && map != other.map_) map = map->l_next;
  return map != nullptr;
}

const void* LoadedObject::Find(const char* symbol) const {
  const std::uint32_t* hash = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map_->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(address);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
  }
  if (hash == nullptr || symbols == nullptr || names == nullptr) return nullptr;
  const auto found = GnuHashTable(hash).Find(symbol, [&](std::uint32_t i) {
    return symbols[i].st_shndx != SHN_UNDEF && std::strcmp(names + symbols[i].st_name, symbol) == 0;
  });
  return found ? reinterpret_cast<const void*>(map_->l_addr + symbols[*found].st_value) : nullptr;
}

std::atomic<bool> own_env_is_going{false};
thread_local bool making = false;

struct Defaults {
  std::shared_ptr<rocksdb::FileSystem> file_system;
  std::unique_ptr<rocksdb::Env> env;
};

[[noreturn]] void End(std::string_view reason) {
  PrintLine(reason);
  std::_Exit(EXIT_FAILURE);
}

// Where a call from `caller` would go without this library.
struct OwnDefinition {
  void* function = nullptr;
  bool is_ours = true;  // defined by the RocksDB that this library is linked with
};

// What the next library in the search order defines.
class NextDefinition {
 public:
  explicit constexpr NextDefinition(const char* symbol) : symbol_(symbol) {}

  const char* symbol() const { return symbol_; }

  void* Get() {
    if (void* const next = Look()) return next;
    End(std::string("no RocksDB of this process defines ") + symbol_);
  }
  // Null if there is none yet.
  void* Look() {
    if (void* const known = found_.load(std::memory_order_relaxed)) return known;
    void* const next = dlsym(RTLD_NEXT, symbol_);
    found_.store(next, std::memory_order_relaxed);
    return next;
  }

 private:
  const char* const symbol_;
  std::atomic<void*> found_{nullptr};
};

constinit NextDefinition next_env{"_ZN7rocksdb3Env7DefaultEv"};
constinit NextDefinition next_file_system{"_ZN7rocksdb10FileSystem7DefaultEv"};

// A library with a RocksDB of its own means that one. It can be one that nobody else sees, such as Java's. Others may define these
// functions as well, as this library does, but have no registry of objects.
OwnDefinition FindOwnDefinition(NextDefinition& next, const void* caller) {
  const std::optional<LoadedObject> object = LoadedObject::At(caller);
  if (object && object->Find("_ZN7rocksdb13ObjectLibrary7DefaultEv") != nullptr) {
    if (const void* const found = object->Find(next.symbol()))
      return {const_cast<void*>(found),
              object == LoadedObject::At(reinterpret_cast<const void*>(&rocksdb::ObjectLibrary::Default))};
  }
  return {next.Get()};
}

// For one of the two functions. Most calls come from the same few places.
class OwnDefinitions {
 public:
  explicit OwnDefinitions(NextDefinition& next) : next_(next) {}

  const OwnDefinition& For(const void* caller) {
    if (caller != caller_) {
      last_ = FindOwnDefinition(next_, caller);
      caller_ = caller;
    }
    return last_;
  }

 private:
  NextDefinition& next_;
  const void* caller_ = nullptr;
  OwnDefinition last_;
};

thread_local OwnDefinitions own_envs(next_env);
thread_local OwnDefinitions own_file_systems(next_file_system);

rocksdb::Env* OwnEnv(const void* caller) {
  return reinterpret_cast<rocksdb::Env* (*)()>(own_envs.For(caller).function)();
}

std::shared_ptr<rocksdb::FileSystem> OwnFileSystem(const void* caller) {
  return reinterpret_cast<std::shared_ptr<rocksdb::FileSystem> (*)()>(
      own_file_systems.For(caller).function)();
}

// Null without a default device. Kept to the end of the process, like RocksDB's own.
const Defaults* Make(const void* caller) {
  Result<std::optional<DefaultDevice>> device = DefaultDeviceOfEnvironment();
  if (device && !device->has_value()) return nullptr;
  if (const auto reason = ReasonNotToServe())
    End(reason->substr(std::string_view("zenfs: ").size()) +
        "; ZENFS_DEFAULT_URI is set, so the program ends here");
  making = true;
  OwnEnv(caller);
  std::atexit([] { own_env_is_going = true; });
  Result<DefaultDevice> usable = device ? Result<DefaultDevice>(**std::move(device)) : Fail(device.error());
  auto defaults = std::make_unique<Defaults>();
  defaults->file_system = std::make_shared<DefaultFileSystem>(std::move(usable), OwnFileSystem(caller));
  defaults->env = rocksdb::NewCompositeEnv(defaults->file_system);
  making = false;
  return defaults.release();
}

// Null if RocksDB's own are the defaults.
const Defaults* Current(const void* caller) {
  if (making || own_env_is_going) return nullptr;
  static const Defaults* const defaults = Make(caller);
  if (defaults == nullptr || own_envs.For(caller).is_ours) return defaults;
  // Another RocksDB can't use our classes, and must not write to the host instead.
  End(
      fmt::format("built for RocksDB {}, but this process has another one as well; ZENFS_DEFAULT_URI is set, "
                  "so the program ends here; use the "
                  "libzenfs.so built for that",
                  CompiledRocksVersion()));
}

// Whether RocksDB asks our definitions: the loader must find them before its own.
bool IsBeforeRocksDb() {
  const auto ours = LoadedObject::At(reinterpret_cast<const void*>(&IsBeforeRocksDb));
  const auto theirs = LoadedObject::At(reinterpret_cast<const void*>(&rocksdb::ObjectLibrary::Default));
  return !ours || !theirs || ours->IsBefore(*theirs);
}

// Asks the loader, and makes the defaults, while the library is loaded. Later, a thread that is loading another library may have the
// loader's lock when it comes here, or wait for one that does.
[[gnu::constructor]] void MakeWhenLoaded() {
  next_env.Look();
  next_file_system.Look();
  if (EnvironmentVariable("ZENFS_DEFAULT_URI").empty() && EnvironmentVariable("ZENFS_DEFAULT_PREFIX").empty())
    return;
  if (IsBeforeRocksDb()) {
    Current(reinterpret_cast<const void*>(&rocksdb::ObjectLibrary::Default));
    return;
  }
  const std::string reason =
      "ZENFS_DEFAULT_URI has no effect: libzenfs.so was loaded after RocksDB, whose files are on the host; "
      "preload it (LD_PRELOAD=libzenfs.so)";
  if (EnvironmentVariable("ZENFS_REQUIRED") == "1")
    End(reason + "; ZENFS_REQUIRED is set, so the program ends here");
  PrintLine(reason);
}

}  // namespace

}  // namespace zenfs

namespace rocksdb {

[[gnu::visibility("default"), gnu::noinline]] Env* Env::Default() {
  const void* const caller = __builtin_return_address(0);
  const zenfs::Defaults* const ours = zenfs::Current(caller);
  return ours != nullptr ? ours->env.get() : zenfs::OwnEnv(caller);
}

[[gnu::visibility("default"), gnu::noinline]] std::shared_ptr<FileSystem> FileSystem::Default() {
  const void* const caller = __builtin_return_address(0);
  const zenfs::Defaults* const ours = zenfs::Current(caller);
  return ours != nullptr ? ours->file_system : zenfs::OwnFileSystem(caller);
}

}  // namespace rocksdb
