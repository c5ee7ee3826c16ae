// A database in zones, for any RocksDB: a user's program, which knows ZenFS only by URI and is preloaded or linked
// with libzenfs.so. scripts/rocksdb-versions compiles it with the headers of each RocksDB and runs it.
//
//   zenfs_rocksdb_smoke work URI OPTIONS    fill, overwrite, read, checkpoint, ingest, reopen, read; OPTIONS as in
//                                           RocksDB's option strings, names that this RocksDB has not are left out
//   zenfs_rocksdb_smoke kill URI            writes without sync and dies of SIGKILL, saying first how much it wrote
//   zenfs_rocksdb_smoke found URI COUNT     all of that is there
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "database.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/checkpoint.h"

namespace smoke {
namespace {

using rocksdb::Status;

constexpr int kKeys = 20'000;
constexpr int kUnsynced = 5'000;

using Contents = std::map<std::string, std::string>;

std::string KeyOf(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "key%08d", number);
  return text;
}

// 400 bytes that no other key or round has.
std::string ValueOf(int number, int round) {
  std::string value = std::to_string(round) + ":" + KeyOf(number) + ":";
  std::uint32_t state = static_cast<std::uint32_t>(number) * 2654435761u + static_cast<std::uint32_t>(round);
  while (value.size() < 400) {
    state = state * 1664525u + 1013904223u;
    value.push_back(static_cast<char>('!' + (state >> 16) % 90));
  }
  return value;
}

Status PutRound(rocksdb::DB& db, Contents& expected, int round, int step) {
  for (int i = 0; i < kKeys; i += step) {
    const std::string value = ValueOf(i, round);
    rocksdb::WriteOptions options;
    options.sync = i % 5'000 == 0;
    const Status status = db.Put(options, KeyOf(i), value);
    if (!status.ok()) return status;
    expected[KeyOf(i)] = value;
  }
  return db.Flush(rocksdb::FlushOptions());
}

Status Delete(rocksdb::DB& db, Contents& expected) {
  for (int i = 0; i < kKeys; i += 7) {
    const Status status = db.Delete(rocksdb::WriteOptions(), KeyOf(i));
    if (!status.ok()) return status;
    expected.erase(KeyOf(i));
  }
  return Status::OK();
}

// A table made aside and taken over: reopened or synced by name, and linked or copied.
Status Ingest(rocksdb::DB& db, const rocksdb::Options& options, Contents& expected) {
  const std::string file = "/aside.sst";
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  Status status = writer.Open(file);
  for (int i = kKeys; status.ok() && i < kKeys + 500; ++i) {
    expected[KeyOf(i)] = ValueOf(i, 9);
    status = writer.Put(KeyOf(i), expected[KeyOf(i)]);
  }
  if (status.ok()) status = writer.Finish();
  if (status.ok()) status = db.IngestExternalFile({file}, rocksdb::IngestExternalFileOptions());
  return status.ok() ? options.env->DeleteFile(file) : status;
}

Status ReadInOrder(rocksdb::DB& db, const Contents& expected) {
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(rocksdb::ReadOptions()));
  auto next = expected.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++next) {
    if (next == expected.end() || it->key() != next->first || it->value() != next->second) {
      return Status::Corruption("a scan found what was not written: " + it->key().ToString());
    }
  }
  if (!it->status().ok()) return it->status();
  return next == expected.end() ? Status::OK() : Status::Corruption("a scan ended before " + next->first);
}

Status ReadTogether(rocksdb::DB& db, const Contents& expected) {
  std::vector<std::string> names;
  for (int i = 0; i < kKeys; i += 37) names.push_back(KeyOf(i));
  const std::vector<rocksdb::Slice> keys(names.begin(), names.end());
  std::vector<std::string> values;
  const std::vector<Status> statuses = db.MultiGet(rocksdb::ReadOptions(), keys, &values);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto there = expected.find(names[i]);
    if (there == expected.end() && statuses[i].IsNotFound()) continue;
    if (there == expected.end() || !statuses[i].ok() || values[i] != there->second) {
      return Status::Corruption("MultiGet of " + names[i] + ": " + statuses[i].ToString());
    }
  }
  return Status::OK();
}

Status Read(rocksdb::DB& db, const Contents& expected) {
  const Status status = ReadInOrder(db, expected);
  return status.ok() ? ReadTogether(db, expected) : status;
}

Status ReadCopy(const rocksdb::Options& options, const std::string& path, const Contents& expected) {
  std::unique_ptr<rocksdb::DB> copy;
  const Status status = OpenDatabase(options, path, &copy);
  return status.ok() ? Read(*copy, expected) : status;
}

Status MakeCopy(rocksdb::DB& db, const std::string& path) {
  rocksdb::Checkpoint* raw = nullptr;
  const Status status = rocksdb::Checkpoint::Create(&db, &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  return status.ok() ? checkpoint->CreateCheckpoint(path) : status;
}

Status Fill(rocksdb::DB& db, const rocksdb::Options& options, Contents& expected) {
  Status status = PutRound(db, expected, 1, 1);
  if (status.ok()) status = PutRound(db, expected, 2, 2);
  if (status.ok()) status = Delete(db, expected);
  if (status.ok()) status = db.CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr);
  if (status.ok()) status = PutRound(db, expected, 3, 5);
  if (status.ok()) status = Ingest(db, options, expected);
  return status.ok() ? Read(db, expected) : status;
}

Status Work(const std::string& uri, const std::string& more) {
  rocksdb::Options options;
  Status status = OptionsOf(uri, more, &options);
  if (!status.ok()) return status;
  Contents expected;
  Contents copied;
  std::unique_ptr<rocksdb::DB> db;
  status = OpenDatabase(options, "/smoke", &db);
  if (status.ok()) status = Fill(*db, options, expected);
  if (status.ok()) status = MakeCopy(*db, "/copy");
  copied = expected;
  if (status.ok()) status = PutRound(*db, expected, 4, 3);
  db.reset();
  if (status.ok()) status = OpenDatabase(options, "/smoke", &db);
  if (status.ok()) status = Read(*db, expected);
  if (status.ok()) status = ReadCopy(options, "/copy", copied);
  return status;
}

// Nothing is synced: what was written has to survive the process all the same.
Status Kill(const std::string& uri) {
  rocksdb::Options options;
  Status status = OptionsOf(uri, "", &options);
  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) status = OpenDatabase(options, "/killed", &db);
  for (int i = 0; status.ok() && i < kUnsynced; ++i) {
    status = db->Put(rocksdb::WriteOptions(), KeyOf(i), ValueOf(i, 5));
  }
  if (!status.ok()) return status;
  std::printf("%d\n", kUnsynced);
  std::fflush(stdout);
  std::raise(SIGKILL);
  return Status::Aborted("still alive");
}

Status Found(const std::string& uri, int count) {
  rocksdb::Options options;
  Status status = OptionsOf(uri, "", &options);
  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) status = OpenDatabase(options, "/killed", &db);
  if (!status.ok()) return status;
  Contents expected;
  for (int i = 0; i < count; ++i) expected[KeyOf(i)] = ValueOf(i, 5);
  return ReadInOrder(*db, expected);
}

Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "work") return Work(arguments[1], arguments[2]);
  if (arguments.size() == 2 && arguments[0] == "kill") return Kill(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "found")
    return Found(arguments[1], std::atoi(arguments[2].c_str()));
  return Status::InvalidArgument("usage: zenfs_rocksdb_smoke work URI OPTIONS | kill URI | found URI COUNT");
}

}  // namespace
}  // namespace smoke

int main(int argc, char** argv) {
  const rocksdb::Status status = smoke::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status.ok()) std::fprintf(stderr, "smoke: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
