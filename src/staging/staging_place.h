// Where on the host the append buffers of a mount are, as the metadata log keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zenfs {

struct StagingPlace {
  std::string boot;  // a tmpfs does not outlive it
  std::string path;  // of the file

  std::string ToText() const;  // "BOOT PATH"
  // Nothing if `text` is not what ToText makes.
  static std::optional<StagingPlace> Parse(std::string_view text);
};

// The kernel's name for this run of the host (proc(5), /proc/sys/kernel/random/boot_id); "unknown" if it tells none.
[[nodiscard]] std::string BootId();

// Names of all files of append buffers that belong to a device begin with this.
[[nodiscard]] std::string StagingNamePrefix(std::string_view identity);

}  // namespace zenfs
