// A program that has no setting for a file system. Built twice: with the shared RocksDB, and with the static one, which ZenFS
// can't reach.
//
//   zenfs_put_and_get DIRECTORY KEY VALUE    prints what the key had before
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, argv[1], &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::string before;
  if (status.ok()) {
    const rocksdb::Status got = db->Get({}, argv[2], &before);
    if (!got.ok()) before = got.ToString();
    status = db->Put({}, argv[2], argv[3]);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "put_and_get: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("%s\n", before.c_str());
  return 0;
}
