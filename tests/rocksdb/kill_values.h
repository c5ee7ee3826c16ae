// What kill_writer.cc writes and kill_test.cc expects.
#pragma once

#include <string>

#include "rocksdb/options.h"

namespace zenfs {

// A memtable is flushed every few hundred keys, so kills hit flushes and compactions too.
inline rocksdb::Options KillOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 128 << 10;
  options.target_file_size_base = 128 << 10;
  options.max_bytes_for_level_base = 512 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.compression = rocksdb::kNoCompression;
  options.paranoid_checks = true;
  return options;
}

inline std::string KillKey(long number) { return "key" + std::to_string(100'000'000 + number); }
// Of varying length, so that WAL records end anywhere in a block.
inline std::string KillValue(long number) {
  std::string value = std::to_string(number) + ":";
  value.append(static_cast<std::size_t>(100 + number * 37 % 900), static_cast<char>('a' + number % 26));
  return value;
}

}  // namespace zenfs
