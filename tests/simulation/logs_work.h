// Fills a device with many logs and with tables, as its only client, and goes on when it is full. The logs are flushed and
// seldom synced, so that a kill leaves bytes in as many append buffers as there are.
//
// If a call finds no space, its file is deleted: a deletion must always work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/client.h"

namespace zenfs {

class LogsWork {
 public:
  struct Sizes {
    std::size_t logs = 8;        // open at a time
    std::uint64_t buffer = 0;    // bytes of an append buffer
    std::uint64_t capacity = 0;  // of a zone for data
    std::uint64_t device = 0;    // bytes of all zones for data
    std::size_t files_max = 0;   // so that they do not fill the metadata zones
  };
  // Continues with the files under `root`. `client` must outlive it.
  LogsWork(Client& client, const std::string& root, const Sizes& sizes);

  void Step();

 private:
  struct Log {
    std::string handle;
    std::string path;
  };

  std::string NewName(const char* suffix);
  void OpenLog();
  void Append();
  void CloseLog();
  void Table();
  void DeleteTable();
  // True if the last call found no space: `handle` and its file are gone.
  bool IsFull(const std::string& handle, const std::string& path);

  Client& client_;
  const std::string root_;
  const Sizes sizes_;
  std::uint64_t next_number_ = 1;
  bool full_ = false;
  std::vector<Log> logs_;
  std::vector<std::string> tables_;
};

}  // namespace zenfs
