// The native half of org.rocksdb.ZenFsEnv (java/): makes and closes the Env of a URI for RocksJava.
//
// RocksJava hands an Env to native code as a pointer, and so does this file. RocksJava's rule is that an Env outlives everything that uses
// it. A program that closes one too early would crash, so an Env with a file system in use is kept until a later call finds it unused.
//
// The functions of JNI that are needed are declared here: their places in the table never change, and the build needs no JDK.
//
// Threads: any.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device_uri.h"
#include "base/caught.h"
#include "base/mutex.h"
#include "base/printable.h"
#include "rocksdb_plugin/mount_uri.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

namespace {

constexpr const char* kPrefix = "zenfs: ";  // of all messages

// JNIEnv of jni.h, called as in C: a pointer to a pointer to a table of functions.
class JavaCall {
 public:
  using Object = void*;

  explicit JavaCall(void* env) : env_(env) {}

  [[nodiscard]] std::string BytesOf(Object array) {
    std::string bytes(Function<std::int32_t (*)(void*, Object)>(171)(env_, array), '\0');  // GetArrayLength
    Function<void (*)(void*, Object, std::int32_t, std::int32_t, void*)>(200)(  // GetByteArrayRegion
        env_, array, 0, static_cast<std::int32_t>(bytes.size()), bytes.data());
    return bytes;
  }

  // Null, and OutOfMemoryError when Java goes on, without memory.
  [[nodiscard]] Object NewBytes(std::string_view bytes) {
    const auto size = static_cast<std::int32_t>(bytes.size());
    Object array = Function<Object (*)(void*, std::int32_t)>(176)(env_, size);  // NewByteArray
    if (array != nullptr)
      Function<void (*)(void*, Object, std::int32_t, std::int32_t, const void*)>(208)(  // SetByteArrayRegion
          env_, array, 0, size, bytes.data());
    return array;
  }

  void SetLong(Object array, std::int64_t value) {
    Function<void (*)(void*, Object, std::int32_t, std::int32_t, const std::int64_t*)>(
        212)(  // SetLongArrayRegion
        env_, array, 0, 1, &value);
  }

 private:
  template <typename Type>
  Type Function(int index) {
    return reinterpret_cast<Type>((*static_cast<void***>(env_))[index]);
  }

  void* env_;
};

class JavaEnvs {
 public:
  [[nodiscard]] Result<rocksdb::Env*> Open(const std::string& uri) {
    DeleteUnused();
    if (const auto reason = ReasonNotToServe())
      return Fail(Code::kInvalidArgument, reason->substr(std::string_view(kPrefix).size()));
    ZENFS_RETURN_IF_ERROR(CheckScheme(uri));
    ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<rocksdb::FileSystem> file_system, FileSystemOfUri(uri));
    return rocksdb::NewCompositeEnv(file_system).release();
  }

  void Close(rocksdb::Env* env) {
    {
      MutexLock lock(mutex_);
      closed_.emplace_back(env);
    }
    DeleteUnused();
  }

 private:
  // Every object of RocksDB that works with files shares the file system.
  static bool InUse(const std::unique_ptr<rocksdb::Env>& env) { return env->GetFileSystem().use_count() > 1; }

  void DeleteUnused() {
    std::vector<std::unique_ptr<rocksdb::Env>> unused;  // an unmount writes to the device: without the lock
    MutexLock lock(mutex_);
    const auto first = std::partition(closed_.begin(), closed_.end(), InUse);
    unused.assign(std::make_move_iterator(first), std::make_move_iterator(closed_.end()));
    closed_.erase(first, closed_.end());
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<rocksdb::Env>> closed_ GUARDED_BY(mutex_);
};

// Never destroyed: Java has no order of destruction at its end.
JavaEnvs& Envs() {
  static JavaEnvs* const envs = new JavaEnvs;
  return *envs;
}

}  // namespace

}  // namespace zenfs

extern "C" {

// static native byte[] openEnv(byte[] uri, long[] env): puts the Env into env[0] and returns null, or returns the reason in UTF-8.
[[gnu::visibility("default")]] void* Java_org_rocksdb_ZenFsEnv_openEnv(void* jni, void*, void* uri,
                                                                       void* env) noexcept {
  zenfs::JavaCall java(jni);
  const auto opened = zenfs::Caught([&] { return zenfs::Envs().Open(java.BytesOf(uri)); });
  if (!opened) return java.NewBytes(zenfs::kPrefix + zenfs::Printable(opened.error().ToString()));
  java.SetLong(env, std::bit_cast<std::int64_t>(*opened));
  return nullptr;
}

// static native void closeEnv(long env)
[[gnu::visibility("default")]] void Java_org_rocksdb_ZenFsEnv_closeEnv(void*, void*,
                                                                       std::int64_t env) noexcept {
  zenfs::Envs().Close(std::bit_cast<rocksdb::Env*>(env));
}
}
