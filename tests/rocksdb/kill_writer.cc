// Writes to a database with synced writes, and says on standard output which are acknowledged, until it is
// killed (kill_test.cc does that).
//
//   zenfs_kill_writer URI FIRST       puts key FIRST, FIRST + 1, ...; prints each number once it is durable
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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
  if (argc != 3) return 2;
  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  rocksdb::Status status = rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", argv[1], &env, &guard);
  if (!status.ok()) return Fail(status);
  rocksdb::DB* raw = nullptr;
  status = rocksdb::DB::Open(zenfs::KillOptions(env), "/db", &raw);
  if (!status.ok()) return Fail(status);
  const std::unique_ptr<rocksdb::DB> db(raw);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  for (long number = std::atol(argv[2]);; ++number) {
    status = db->Put(synced, zenfs::KillKey(number), zenfs::KillValue(number));
    if (!status.ok()) return Fail(status);
    if (!Acknowledge(number)) return 1;
  }
}
