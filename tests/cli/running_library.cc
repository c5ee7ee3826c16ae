// A library that looks like RocksDB, and like a plugin of ZenFS. If any of its code runs, it makes the file $LIBRARY_RAN. With
// $LIBRARY_STAYS it leaves a process that holds the standard output and all pipes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void Run() {
  if (const char* const trace = std::getenv("LIBRARY_RAN")) ::close(::open(trace, O_WRONLY | O_CREAT, 0600));
  if (std::getenv("LIBRARY_STAYS") == nullptr || ::fork() != 0) return;
  ::alarm(100);
  ::pause();
}

[[gnu::constructor]] void RunWhenLoaded() { Run(); }

}  // namespace

namespace rocksdb {

class Env {
 public:
  [[gnu::visibility("default")]] static Env* Default();
};

Env* Env::Default() {
  Run();
  return nullptr;
}

}  // namespace rocksdb

extern "C" {

[[gnu::visibility("default")]] unsigned la_version(unsigned version) {
  Run();
  return version;
}

[[gnu::visibility("default")]] const char* zenfs_plugin_version() { return "1.2.3 for RocksDB 7.9.2"; }

[[gnu::visibility("default")]] extern const char running_library_property[];
const char running_library_property[] = "num-immutable-mem-table-flushed";
}
