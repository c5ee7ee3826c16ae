// A database in the zones of a device, by the option string that every RocksDB program can take.
//
//   zenfs emu create /var/tmp/zones.img && zenfs mkfs --emu=/var/tmp/zones.img
//   g++ -std=c++17 examples/cpp/hello.cc -o hello -Wl,--no-as-needed -Lbuild/release -lzenfs -lrocksdb
//   LD_LIBRARY_PATH=build/release ./hello zenfs://emu:/var/tmp/zones.img
//
// -lzenfs (which nothing in the program refers to, hence --no-as-needed) makes RocksDB know URIs that begin
// with zenfs://. Without it, LD_PRELOAD=libzenfs.so does the same for a program that is built already.
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>

#include <iostream>
#include <memory>
#include <string>

namespace {

rocksdb::Status Greet(const std::string& uri) {
  rocksdb::ConfigOptions strict;
  strict.ignore_unsupported_options =
      false;  // else, without libzenfs, RocksDB ignores env= and writes to the host
  rocksdb::Options options;
  rocksdb::Status status = rocksdb::GetOptionsFromString(strict, rocksdb::Options(),
                                                         "create_if_missing=true;env=" + uri, &options);
  if (!status.ok()) return status;

  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::Open(options, "/hello", &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<rocksdb::DB> db(opened);

  rocksdb::WriteOptions durable;
  durable.sync = true;  // returns when the value would survive a loss of power
  status = db->Put(durable, "greeting", "hello from a zone");
  std::string value;
  if (status.ok()) status = db->Get(rocksdb::ReadOptions(), "greeting", &value);
  if (status.ok()) std::cout << value << "\n";
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: hello zenfs://emu:PATH\n", 2;
  const rocksdb::Status status = Greet(argv[1]);
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
