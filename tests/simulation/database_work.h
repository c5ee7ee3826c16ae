// The file operations of RocksDB, one step at a time: a log that is appended to and synced, tables
// written and deleted, a MANIFEST that is appended to and sometimes replaced through CURRENT.
#pragma once

#include <deque>
#include <string>

#include "crash/client.h"

namespace zenfs {

class DatabaseWork {
 public:
  // Continues with the files under `root`. `client` must outlive it.
  DatabaseWork(Client& client, const std::string& root);

  void Step();

 private:
  std::string Name(std::uint64_t number, const char* suffix) const;
  std::string ArchiveRoot() const { return root_ + "/archive"; }
  void Put();
  void PutBlob();
  void Read();
  void GiveUp(const std::string& wal);
  void FlushMemtable();
  void Compact();
  void NewManifest();
  void WriteTable();
  void Log(const std::string& path, std::size_t bytes);
  void Checkpoint();

  Client& client_;
  const std::string root_;
  std::uint64_t next_number_ = 1;
  std::string wal_;
  std::string manifest_;
  std::string blob_;
  std::deque<std::string> tables_;
  std::deque<std::string> old_;  // to be deleted
  const bool archives_;
  std::deque<std::string> archived_;
};

}  // namespace zenfs
