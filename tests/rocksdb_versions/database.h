// Opening databases in the ways that all RocksDBs from 6.29 on know.
#pragma once

#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"

namespace smoke {

// DB::Open gives a plain pointer up to 10, a unique_ptr since 11.
template <typename DB>
auto OpenDatabaseBy(int, const rocksdb::Options& options, const std::string& path, std::unique_ptr<DB>* db)
    -> decltype(DB::Open(options, path, db)) {
  return DB::Open(options, path, db);
}
template <typename DB>
rocksdb::Status OpenDatabaseBy(long, const rocksdb::Options& options, const std::string& path,
                               std::unique_ptr<DB>* db) {
  DB* opened = nullptr;
  rocksdb::Status status = DB::Open(options, path, &opened);
  db->reset(opened);
  return status;
}

inline rocksdb::Status OpenDatabase(const rocksdb::Options& options, const std::string& path,
                                    std::unique_ptr<rocksdb::DB>* db) {
  return OpenDatabaseBy<rocksdb::DB>(0, options, path, db);
}

// Options whose Env is the one of `uri`, with small tables so that there are many. What `more` names and this
// RocksDB does not know is left out.
inline rocksdb::Status OptionsOf(const std::string& uri, const std::string& more, rocksdb::Options* options) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  rocksdb::DBOptions of_database;
  rocksdb::Status status = rocksdb::GetDBOptionsFromString(config, rocksdb::DBOptions(),
                                                           "create_if_missing=true;" + more, &of_database);
  if (!status.ok()) return status;
  rocksdb::ColumnFamilyOptions of_family;
  of_family.write_buffer_size = 1 << 20;
  of_family.target_file_size_base = 1 << 20;
  of_family.compression = rocksdb::kNoCompression;
  *options = rocksdb::Options(of_database, of_family);
  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::Env> guard;
  status = rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), uri, "", &env, &guard);
  if (!status.ok()) return status;
  if (env == nullptr || env == rocksdb::Env::Default()) return rocksdb::Status::NotFound("no Env for " + uri);
  options->env = env;  // ours lives as long as the process, so that `guard` holds none
  return status;
}

}  // namespace smoke
