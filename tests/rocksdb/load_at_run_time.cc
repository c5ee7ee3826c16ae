// A program that knows RocksDB but not ZenFS, and loads libzenfs.so while it runs, as Java's System.load
// does.
//
//   zenfs_load_at_run_time LIBZENFS URI      writes, reopens and reads a database; prints "ok"
#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"

namespace {

rocksdb::Status WriteAndRead(const std::string& uri) {
  rocksdb::Options options;
  rocksdb::Status status = rocksdb::GetDBOptionsFromString(rocksdb::ConfigOptions(), rocksdb::DBOptions(),
                                                           "create_if_missing=true;env=" + uri, &options);
  std::string value;
  for (const char* expected : {"", "value"}) {
    rocksdb::DB* raw = nullptr;
    if (status.ok()) status = rocksdb::DB::Open(options, "/loaded", &raw);
    if (!status.ok()) return status;
    const std::unique_ptr<rocksdb::DB> db(raw);
    status = db->Get(rocksdb::ReadOptions(), "key", &value);
    if (status.IsNotFound()) status = rocksdb::Status::OK();
    if (status.ok() && value != expected) return rocksdb::Status::Corruption("read '" + value + "'");
    if (status.ok()) status = db->Put(rocksdb::WriteOptions(), "key", "value");
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "load_at_run_time: %s\n", dlerror());
    return 1;
  }
  const rocksdb::Status status = WriteAndRead(argv[2]);
  dlclose(library);  // changes nothing: the library stays
  std::fprintf(status.ok() ? stdout : stderr, "%s\n", status.ok() ? "ok" : status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
