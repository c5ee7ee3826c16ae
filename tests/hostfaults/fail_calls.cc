// Preloaded into the command: counts the calls to libc that its plan is about, and makes some fail (fault_plan.h).
//
// Only calls through libc's own symbols are seen, not the system calls inside libc: fopen opens with one that is not counted.
// The headers that declare these functions are not included: they differ in noexcept.
#include <dlfcn.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "fault_plan.h"

struct iovec;
struct stat;
struct statfs;
struct statvfs;
struct dirent;
union pthread_attr_t;

namespace zenfs {
namespace {

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

FaultPlan* MapPlan() {
  constexpr int kReadWrite = 2;
  constexpr int kProtReadWrite = 3;
  constexpr int kShared = 1;
  const char* const path = std::getenv(kFaultPlanVariable);
  if (path == nullptr) return nullptr;
  const int fd = Next<int(const char*, int, ...)>("open")(path, kReadWrite);
  if (fd < 0) std::abort();
  void* const page = Next<void*(void*, unsigned long, int, int, int, long)>("mmap")(
      nullptr, sizeof(FaultPlan), kProtReadWrite, kShared, fd, 0);
  Next<int(int)>("close")(fd);
  if (reinterpret_cast<std::intptr_t>(page) == -1) std::abort();
  return static_cast<FaultPlan*>(page);
}

// True if this call has to fail; errno is set then.
bool Fails(FaultKind kind, const char* name) {
  static FaultPlan* const plan = MapPlan();
  if (plan == nullptr || (plan->kinds & kind) == 0) return false;
  const std::uint64_t number = ++plan->calls;
  const std::uint64_t first = plan->first;
  if (first == 0 || number < first || number - first >= plan->times) return false;
  if (plan->failed++ == 0) std::strncpy(plan->name, name, sizeof(plan->name) - 1);
  errno = plan->error;
  return true;
}

constexpr long kFailed = -1;
constexpr int kStandardError = 2;

bool IsLock(int command) {
  constexpr int kSetLock = 6;
  constexpr int kSetLockAndWait = 7;
  constexpr int kSetOfdLock = 37;
  constexpr int kSetOfdLockAndWait = 38;
  return command == kSetLock || command == kSetLockAndWait || command == kSetOfdLock ||
         command == kSetOfdLockAndWait;
}

bool OpensOrRenames(long number) {
  constexpr long kRenameAt2 = 316;
  constexpr long kOpenAt2 = 437;
  return number == kRenameAt2 || number == kOpenAt2;
}

}  // namespace
}  // namespace zenfs

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define FAILS(kind, name) zenfs::Fails(zenfs::kind, name)
// A function of libc that fails with `failed` and errno.
#define INTERPOSE(kind, result, failed, name, parameters, arguments) \
  EXPORTED result name parameters {                                  \
    if (FAILS(kind, #name)) return failed;                           \
    static auto* const next = zenfs::Next<result parameters>(#name); \
    return next arguments;                                           \
  }
// The same for one that may be about standard output.
#define INTERPOSE_WRITE(name, parameters, arguments)                                    \
  EXPORTED long name parameters {                                                       \
    if (fd > zenfs::kStandardError && FAILS(kWriteCalls, #name)) return zenfs::kFailed; \
    static auto* const next = zenfs::Next<long parameters>(#name);                      \
    return next arguments;                                                              \
  }
// open and its like: `mode` is there only if a file may be made, and passing on what is not there is harmless here.
#define INTERPOSE_OPEN(name, parameters, last, arguments)         \
  EXPORTED int name parameters {                                  \
    if (FAILS(kOpenCalls, #name)) return -1;                      \
    va_list list;                                                 \
    va_start(list, last);                                         \
    const unsigned mode = va_arg(list, unsigned);                 \
    va_end(list);                                                 \
    static auto* const next = zenfs::Next<int parameters>(#name); \
    return next arguments;                                        \
  }

INTERPOSE_OPEN(open, (const char* path, int flags, ...), flags, (path, flags, mode))
INTERPOSE_OPEN(open64, (const char* path, int flags, ...), flags, (path, flags, mode))
INTERPOSE_OPEN(openat, (int at, const char* path, int flags, ...), flags, (at, path, flags, mode))
INTERPOSE_OPEN(openat64, (int at, const char* path, int flags, ...), flags, (at, path, flags, mode))
INTERPOSE(kOpenCalls, void*, nullptr, opendir, (const char* path), (path))
INTERPOSE(kOpenCalls, void*, nullptr, fdopendir, (int fd), (fd))

INTERPOSE(kReadCalls, long, -1, read, (int fd, void* to, unsigned long n), (fd, to, n))
INTERPOSE(kReadCalls, long, -1, pread, (int fd, void* to, unsigned long n, long at), (fd, to, n, at))
INTERPOSE(kReadCalls, long, -1, pread64, (int fd, void* to, unsigned long n, long at), (fd, to, n, at))
INTERPOSE(kReadCalls, long, -1, preadv2, (int fd, const iovec* to, int n, long at, int flags),
          (fd, to, n, at, flags))
INTERPOSE(kReadCalls, long, -1, copy_file_range,
          (int from, long* at, int to, long* to_at, unsigned long n, unsigned flags),
          (from, at, to, to_at, n, flags))
INTERPOSE(kReadCalls, long, -1, sendfile, (int to, int from, long* at, unsigned long n), (to, from, at, n))

INTERPOSE_WRITE(write, (int fd, const void* from, unsigned long n), (fd, from, n))
INTERPOSE_WRITE(writev, (int fd, const iovec* from, int n), (fd, from, n))
INTERPOSE_WRITE(pwrite, (int fd, const void* from, unsigned long n, long at), (fd, from, n, at))
INTERPOSE_WRITE(pwrite64, (int fd, const void* from, unsigned long n, long at), (fd, from, n, at))
INTERPOSE_WRITE(pwritev, (int fd, const iovec* from, int n, long at), (fd, from, n, at))
INTERPOSE_WRITE(pwritev2, (int fd, const iovec* from, int n, long at, int flags), (fd, from, n, at, flags))

INTERPOSE(kSpaceCalls, int, -1, ftruncate, (int fd, long size), (fd, size))
INTERPOSE(kSpaceCalls, int, -1, ftruncate64, (int fd, long size), (fd, size))
INTERPOSE(kSpaceCalls, int, -1, truncate, (const char* path, long size), (path, size))
INTERPOSE(kSpaceCalls, int, -1, fallocate, (int fd, int mode, long at, long n), (fd, mode, at, n))
INTERPOSE(kSpaceCalls, int, -1, fallocate64, (int fd, int mode, long at, long n), (fd, mode, at, n))

EXPORTED void* mmap(void* at, unsigned long size, int protection, int flags, int fd, long offset) {
  if (fd >= 0 && FAILS(kMapCalls, "mmap")) return reinterpret_cast<void*>(zenfs::kFailed);
  static auto* const next = zenfs::Next<void*(void*, unsigned long, int, int, int, long)>("mmap");
  return next(at, size, protection, flags, fd, offset);
}
INTERPOSE(kMapCalls, int, -1, msync, (void* at, unsigned long size, int flags), (at, size, flags))

INTERPOSE(kSyncCalls, int, -1, fsync, (int fd), (fd))
INTERPOSE(kSyncCalls, int, -1, fdatasync, (int fd), (fd))

INTERPOSE(kNameCalls, int, -1, rename, (const char* from, const char* to), (from, to))
INTERPOSE(kNameCalls, int, -1, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
INTERPOSE(kNameCalls, int, -1, renameat2, (int a, const char* from, int b, const char* to, unsigned flags),
          (a, from, b, to, flags))
INTERPOSE(kNameCalls, int, -1, unlink, (const char* path), (path))
INTERPOSE(kNameCalls, int, -1, unlinkat, (int at, const char* path, int flags), (at, path, flags))
INTERPOSE(kNameCalls, int, -1, rmdir, (const char* path), (path))
INTERPOSE(kNameCalls, int, -1, remove, (const char* path), (path))
INTERPOSE(kNameCalls, int, -1, mkdir, (const char* path, unsigned mode), (path, mode))
INTERPOSE(kNameCalls, int, -1, mkdirat, (int at, const char* path, unsigned mode), (at, path, mode))
INTERPOSE(kNameCalls, int, -1, link, (const char* from, const char* to), (from, to))
INTERPOSE(kNameCalls, int, -1, linkat, (int a, const char* from, int b, const char* to, int flags),
          (a, from, b, to, flags))

INTERPOSE(kLockCalls, int, -1, flock, (int fd, int operation), (fd, operation))
EXPORTED int fcntl(int fd, int command, ...) {
  if (zenfs::IsLock(command) && FAILS(kLockCalls, "fcntl")) return -1;
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  static auto* const next = zenfs::Next<int(int, int, ...)>("fcntl");
  return next(fd, command, argument);
}

INTERPOSE(kLookCalls, int, -1, stat, (const char* path, struct stat* to), (path, to))
INTERPOSE(kLookCalls, int, -1, lstat, (const char* path, struct stat* to), (path, to))
INTERPOSE(kLookCalls, int, -1, fstat, (int fd, struct stat* to), (fd, to))
INTERPOSE(kLookCalls, int, -1, fstatat, (int at, const char* path, struct stat* to, int flags),
          (at, path, to, flags))
INTERPOSE(kLookCalls, int, -1, statfs, (const char* path, struct statfs* to), (path, to))
INTERPOSE(kLookCalls, int, -1, fstatfs, (int fd, struct statfs* to), (fd, to))
INTERPOSE(kLookCalls, int, -1, statvfs, (const char* path, struct statvfs* to), (path, to))
INTERPOSE(kLookCalls, int, -1, fstatvfs, (int fd, struct statvfs* to), (fd, to))
INTERPOSE(kLookCalls, int, -1, access, (const char* path, int mode), (path, mode))
INTERPOSE(kLookCalls, int, -1, faccessat, (int at, const char* path, int mode, int flags),
          (at, path, mode, flags))
INTERPOSE(kLookCalls, dirent*, nullptr, readdir, (void* directory), (directory))
INTERPOSE(kLookCalls, long, -1, readlink, (const char* path, char* to, unsigned long n), (path, to, n))

EXPORTED long syscall(long number, ...) {
  if (zenfs::OpensOrRenames(number) && FAILS(kOpenCalls, "syscall")) return -1;
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  static auto* const next = zenfs::Next<long(long, ...)>("syscall");
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

// Returns the error.
EXPORTED int pthread_create(unsigned long* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                            void* argument) {
  if (FAILS(kThreadCalls, "pthread_create")) return errno;
  static auto* const next =
      zenfs::Next<int(unsigned long*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return next(thread, attributes, body, argument);
}
