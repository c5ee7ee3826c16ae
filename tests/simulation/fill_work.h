// Keeps a device between 60 and 97 % live, alone on it: tables, many small files, logs of which some records are synced, a
// manifest. What is written replaces what there was, so there is always something dead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/client.h"

namespace zenfs {

class FillWork {
 public:
  // Goes on with what there is under `root`. `client` must outlive it.
  // No more than `files_max` files of data, so that they do not fill the metadata zones.
  FillWork(Client& client, const std::string& root, std::size_t files_max);

  void Step();
  // The call that failed for want of space met a device with more garbage than that excuses: what copies need, and a zone.
  bool HadGarbage(std::uint64_t zone_capacity) const { return garbage_ > 2 * zone_capacity; }

 private:
  std::string NewName(const char* suffix);
  std::uint64_t LivePercent();
  void Log();
  void Write(std::size_t bytes);
  void Replace(std::size_t bytes);
  void Delete();

  Client& client_;
  const std::string root_;
  const std::size_t files_max_;
  const std::uint64_t percent_;
  std::uint64_t next_number_ = 1;
  std::uint64_t garbage_ = 0;  // before the present step, in zones of data
  std::string wal_;
  std::string manifest_;
  std::vector<std::string> files_;
};

}  // namespace zenfs
