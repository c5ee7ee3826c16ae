// A file that permits a volume to keep LOG and LOCK in a directory of this host. It is in that directory and names the
// volume.
//
// The superblock has the path of the aux directory, so whoever made the image chose it. mkfs writes the marker on the host
// where it runs. On other hosts there is no marker, and the directory is used only with the user's consent.
//
// The file is `.zenfs_aux`; its content is the volume's UUID and a line feed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"

namespace zenfs {

inline constexpr std::string_view kAuxMarker = ".zenfs_aux";

// True for a directory of root or of this process's user in which no other user can replace a file: it is not writable by
// all, or has the sticky bit.
[[nodiscard]] bool IsOwnDirectory(const HostStat& stat);

// A marker under a temporary name. Keep gives it its final name; without Keep, the destructor removes it.
class AuxMarker {
 public:
  // Errors: those of writing the file.
  [[nodiscard]] static Result<AuxMarker> Prepare(const std::string& directory, const Uuid& volume);
  ~AuxMarker();
  AuxMarker(AuxMarker&& other) noexcept
      : directory_(std::move(other.directory_)), pending_(std::exchange(other.pending_, false)) {}
  AuxMarker& operator=(AuxMarker&&) = delete;

  // Replaces the marker of another volume.
  [[nodiscard]] Status Keep();

 private:
  explicit AuxMarker(HostDirectory directory) : directory_(std::move(directory)) {}

  HostDirectory directory_;
  bool pending_ = true;
};

// The volume that the marker in `directory` names. Nothing if there is no marker, if it is not a regular file of root or of
// this process's user, or if its text is not a UUID.
[[nodiscard]] std::optional<Uuid> MarkedVolume(const std::string& directory);

}  // namespace zenfs
