// This host's consent to keep LOG and LOCK of a volume in a directory: a file in that directory which names the volume.
//
// The path of the aux directory is in the superblock, so an image chooses it, and an image may come from anybody. mkfs leaves
// the marker, on the host it runs on; elsewhere there is none, and the directory is not used unasked.
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

// Root or this process's user owns it, and nobody else may put anything of theirs in place of what is in it: it is not
// writable by all, or has the sticky bit.
[[nodiscard]] bool IsOwnDirectory(const HostStat& stat);

// A marker that is about to be made. It has a temporary name until Keep, and is removed if Keep is not called.
class AuxMarker {
 public:
  // Errors: those of the host, for one that can't be written.
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

// The volume that the marker in `directory` names. Nothing if there is none, or it is not a regular file that root or this
// process's user owns, or its text is no UUID.
[[nodiscard]] std::optional<Uuid> MarkedVolume(const std::string& directory);

}  // namespace zenfs
