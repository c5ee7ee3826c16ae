// What flush_writer.cc writes and flush_kill_test.cc expects.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zenfs {

struct FlushedFile {
  std::string name;
  std::size_t size;
  std::size_t piece;  // bytes between two flushes

  std::string Content() const {
    std::string content(size, ' ');
    for (std::size_t i = 0; i < size; ++i)
      content[i] = static_cast<char>('a' + (i / 61 + i % 13 + name.size() + piece) % 26);
    return content;
  }
};

// The names of all files that RocksDB, its stacked databases, tracers, loggers and backup engine write.
inline std::vector<FlushedFile> FlushedFiles() {
  const char* const names[] = {"000012.sst",
                               "000013.blob",
                               "000014.dbtmp",
                               "CURRENT",
                               "IDENTITY",
                               "OPTIONS-000007",
                               "OPTIONS-000008.dbtmp",
                               "MANIFEST-000005",
                               "000015.log",
                               "LOG",
                               "LOG.old.1700000000",
                               "EVENTS.log.tmp",
                               "trace",
                               "block_cache_trace",
                               "io_trace",
                               "external.ext",
                               "000016.sst.trash",
                               "1.tmp",
                               "shared_checksum_000017_1_9.sst"};
  std::vector<FlushedFile> files;
  for (const std::string name : names) {
    files.push_back({name + ".one", 16, 16});
    files.push_back({name + ".records", 800'000, 3'017});
    files.push_back({name + ".pieces", 3'000'000, 1 << 20});
    files.push_back({name, 40'000, 10'000});
  }
  return files;
}

inline constexpr long kFlushedKeys = 9000;
inline std::string FlushedKey(long number) { return "key" + std::to_string(1'000'000 + number); }
// Every third one goes to a blob file.
inline std::string FlushedValue(long number) {
  return std::to_string(number) +
         std::string(number % 3 == 0 ? 1500 : 200, static_cast<char>('a' + number % 26));
}

}  // namespace zenfs
