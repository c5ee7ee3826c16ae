// Writes to a database, and says on standard output which writes are acknowledged, until it is killed (kill_test.cc
// does that).
//
//   zenfs_kill_writer URI FIRST sync|flush    puts key FIRST, FIRST + 1, ...; prints each number once Put has returned:
//                                             with sync it is durable then, without RocksDB has flushed it
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kill_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"

namespace {

int Fail(const rocksdb::Status& status) {
  std::fprintf(stderr, "kill_writer: %s\n", status.ToString().c_str());
  return 1;
}

bool Acknowledge(long number) {
  char line[32];
  const int length = std::snprintf(line, sizeof line, "%ld\n", number);
  return write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) == length;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  rocksdb::Status status = rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", argv[1], &env, &guard);
  if (!status.ok()) return Fail(status);
  rocksdb::DB* raw = nullptr;
  status = rocksdb::DB::Open(zenfs::KillOptions(env), "/db", &raw);
  if (!status.ok()) return Fail(status);
  const std::unique_ptr<rocksdb::DB> db(raw);
  rocksdb::WriteOptions options;
  options.sync = std::strcmp(argv[3], "sync") == 0;
  for (long number = std::atol(argv[2]);; ++number) {
    status = db->Put(options, zenfs::KillKey(number), zenfs::KillValue(number));
    if (!status.ok()) return Fail(status);
    if (!Acknowledge(number)) return 1;
  }
}
