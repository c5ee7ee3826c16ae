// Keeps a device between 60 and 97 % live, as its only client: tables, many small files, logs with
// some synced records, a manifest. Each write replaces older data, so there is always garbage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/client.h"

namespace zenfs {

class FillWork {
 public:
  // Continues with the files under `root`. `client` must outlive it. `files_max`: limit of data
  // files, so that they do not fill the metadata zones.
  FillWork(Client& client, const std::string& root, std::size_t files_max);

  void Step();
  // True if a call failed with "no space" although the device had more garbage than copies need,
  // plus a zone.
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
