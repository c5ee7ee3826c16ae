#include "rocksdb_plugin/registration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backends/device_uri.h"
#include "base/caught.h"
#include "base/mutex.h"
#include "base/printable.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb_plugin/mount_uri.h"
#include "rocksdb_plugin/rocksdb_version.h"

#define ZENFS_STRINGIFY_INNER(x) #x
#define ZENFS_STRINGIFY(x) ZENFS_STRINGIFY_INNER(x)

namespace zenfs {

namespace {

// The Env objects for option strings ("env=zenfs://...") and Env::CreateFromString.
//
// RocksDB never returns such an Env, and a DB may use it until the process ends. Therefore one is
// made per URI; it keeps its volume mounted and lives as long as the process. Its threads, clock
// and other services are those of Env::Default(); its files are those of the volume.
//
// Threads: any.
class Environments {
 public:
  // The object of this process, never destroyed. A child of fork() gets its own, without any Env: a thread that does
  // not exist in the child may have held the inherited mutex.
  static Environments& OfThisProcess() {
    static std::atomic<Environments*> current{nullptr};
    Environments* found = current.load(std::memory_order_acquire);
    while (found == nullptr || found->owner_ != getpid()) {
      auto fresh = std::make_unique<Environments>();
      if (current.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
        return *fresh.release();
    }
    return *found;
  }

  // The Env of `uri`, made by the first call that succeeds. Never null. Errors: those of FileSystemOfUri.
  [[nodiscard]] Result<rocksdb::Env*> Of(const std::string& uri) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (const auto known = by_uri_.find(uri); known != by_uri_.end()) return known->second.get();
    ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<rocksdb::FileSystem> file_system, FileSystemOfUri(uri));
    auto env = rocksdb::NewCompositeEnv(std::move(file_system));
    return by_uri_.emplace(uri, std::move(env)).first->second.get();
  }

 private:
  const pid_t owner_ = getpid();
  // Held during a mount, so that two callers with one URI get the same Env. Taken before every lock
  // of the volume.
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<rocksdb::Env>> by_uri_ GUARDED_BY(mutex_);
};

// RocksDB turns a null pointer into InvalidArgument with `message`, and adds the URI. Its callers
// print that line.
template <typename Object, typename Make>
Object* MakeOrExplain(std::string* message, Make&& make) noexcept {
  try {
    const Result<Object*> made = Caught(std::forward<Make>(make));
    if (made) return *made;
    *message = "zenfs: " + Printable(made.error().ToString());
  } catch (const std::exception& exception) {
    message->assign("zenfs: ").append(Printable(exception.what()));
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

// Sets no guard: RocksDB's option strings accept only an Env that nobody has to delete.
rocksdb::Env* FindEnv(const std::string& uri, std::unique_ptr<rocksdb::Env>* guard, std::string* message) {
  guard->reset();
  return MakeOrExplain<rocksdb::Env>(message, [&] { return Environments::OfThisProcess().Of(uri); });
}

// RocksDB takes a name that nobody claims for an option of another build: it goes on on the host, or crashes. So names that can
// only be misspelt URIs are claimed and refused.
template <typename Object>
Object* RefuseMisspelt(const std::string& name, std::unique_ptr<Object>* guard, std::string* message) {
  guard->reset();
  return MakeOrExplain<Object>(message, [&]() -> Result<Object*> {
    ZENFS_RETURN_IF_ERROR(CheckScheme(name));
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a URI of a device", name));  // the first pattern takes all others
  });
}

template <typename Object>
void Register(rocksdb::ObjectLibrary& library, const rocksdb::FactoryFunc<Object>& make) {
  using Pattern = rocksdb::ObjectLibrary::PatternEntry;
  library.AddFactory<Object>(Pattern("zenfs", /*optional=*/false).AddSeparator("://", /*at_least_one=*/false),
                             make);
  // Of several patterns that fit, RocksDB takes the one that was added first.
  Pattern scheme("zenfs", /*optional=*/true);
  for (const char* const name : {"ZenFS", "Zenfs", "zenFS", "ZENFS"}) scheme.AnotherName(name);
  library.AddFactory<Object>(scheme.AddSeparator(":", /*at_least_one=*/false), RefuseMisspelt<Object>);
  Pattern kind(std::string(DeviceKinds().front()), /*optional=*/false);
  for (const std::string_view name : DeviceKinds().subspan(1)) kind.AnotherName(std::string(name));
  library.AddFactory<Object>(kind.AddSeparator(":", /*at_least_one=*/false), RefuseMisspelt<Object>);
}

void RegisterFactories(rocksdb::ObjectLibrary& library) {
  Register<rocksdb::FileSystem>(library, NewFileSystem);
  Register<rocksdb::Env>(library, FindEnv);
}

// Runs when the library is loaded, so there is no caller to return an error to. Calls no other
// function of a RocksDB for which this library was not compiled: its classes have another layout.
void RegisterOrDecline() {
  if (auto reason = ReasonNotToServe()) {
    reason->push_back('\n');
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, reason->data(), reason->size());
    return;
  }
  RegisterFactories(*rocksdb::ObjectLibrary::Default());
}

#ifndef ZENFS_IN_ROCKSDB_TREE  // there, RocksDB itself calls zenfs_register_builtin
[[maybe_unused]] const bool registered_when_loaded = [] {
  zenfs_register();
  return true;
}();
#endif

}  // namespace

}  // namespace zenfs

void zenfs_register() {
  [[maybe_unused]] static const bool once = [] {
    try {
      zenfs::RegisterOrDecline();
    } catch (...) {  // out of memory while the process is loading: the scheme stays unknown
    }
    return true;
  }();
}

int zenfs_register_builtin(rocksdb::ObjectLibrary& library, const std::string&) {
  try {
    zenfs::RegisterFactories(library);
    return 2;
  } catch (...) {
    return 0;
  }
}

const char* zenfs_plugin_version() {
  return ZENFS_VERSION " for RocksDB " ZENFS_STRINGIFY(ROCKSDB_MAJOR) "." ZENFS_STRINGIFY(
      ROCKSDB_MINOR) "." ZENFS_STRINGIFY(ROCKSDB_PATCH);
}
