// The marker of a directory on the host whose files are in a volume: what the file ZENFS in it says (bound_directories.h).
//
//   zenfs-directory 2
//   volume 6ba7b810-9dad-41d1-80b4-00c04fd430c8
//   id 17                                             of the volume's directory
//   nonce 9f86d081884c7d65                            the volume has it as well, as long as the marker counts
//   inode 1443                                        of the marker itself
//   registry /data/.zenfs.1000                        where its second name is
//   host /data/db                                     the directory, when the marker was written
//   path /data/db                                     the volume's directory, then
#pragma once

#include <cstdint>
#include <string>

#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/units.h"

namespace zenfs {

struct DirectoryMarker {
  Uuid volume;
  FileId id;
  std::string nonce;
  std::uint64_t inode = 0;
  std::string registry;
  std::string host;
  std::string path;

  std::string ToText() const;
  // Errors: kCorruption if the file is not a marker.
  [[nodiscard]] static Result<DirectoryMarker> Read(const HostDirectory& directory, const std::string& name);
};

}  // namespace zenfs
