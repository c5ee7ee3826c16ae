// Makes many small files and deletes most of them, again and again, as its only client. The metadata outgrows the zones that
// mkfs sets aside, and shrinks.
//
// If a call finds no space, its file is deleted: a deletion must always work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/client.h"

namespace zenfs {

class FilesWork {
 public:
  // Continues with the files under `root`. `client` must outlive it.
  FilesWork(Client& client, const std::string& root, std::size_t files_max);

  void Step();

 private:
  void Write();
  void Delete();

  Client& client_;
  const std::string root_;
  const std::size_t files_max_;
  std::uint64_t next_number_ = 1;
  bool shrinks_ = false;
  std::vector<std::string> files_;
};

}  // namespace zenfs
