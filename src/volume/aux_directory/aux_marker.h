// A file that permits a volume to keep LOG and LOCK in a directory of this host. It is in that directory and names the
// volume.
//
// The superblock has the path of the aux directory, so whoever made the image chose it. mkfs writes the marker on the host
// where it runs. On other hosts there is no marker, and the directory is used only with the user's consent.
//
// The UUID of a volume is no secret, and an image can have that of another volume. So the marker also has the aux_secret of
// the superblock. Only those who can read the device, and the owner of the marker, know it.
//
// The file is `.zenfs_aux`, with mode 0600; its content is the volume's UUID, a space, the secret and a line feed.
#pragma once

#include <string>
#include <string_view>

#include "base/host_directory.h"
#include "base/status.h"
#include "format/superblock.h"

namespace zenfs {

inline constexpr std::string_view kAuxMarker = ".zenfs_aux";

// A marker under a temporary name. Keep gives it its final name; without Keep, the destructor removes it.
class AuxMarker {
 public:
  // Errors: those of writing the file.
  [[nodiscard]] static Result<AuxMarker> Prepare(HostDirectory directory, const Uuid& volume,
                                                 const Uuid& secret);
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

// Fails with kPermission, and the reason, if the marker in `directory` does not permit this volume: if there is none, if it is
// of another volume or cannot be read, or if it is not a regular file of root or of this process's user that nobody else can
// read; and for a superblock without a secret.
[[nodiscard]] Status CheckAuxMarker(const HostDirectory& directory, const Superblock& superblock);

}  // namespace zenfs
