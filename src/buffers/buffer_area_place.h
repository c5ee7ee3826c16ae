// The place of a mount's append buffers on the host, as recorded in the metadata log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zenfs {

struct BufferAreaPlace {
  std::string boot;  // boot id; a tmpfs is lost at a reboot
  std::string path;  // of the file

  std::string ToText() const;  // "BOOT PATH"
  // Returns nothing if ToText cannot have made `text`.
  static std::optional<BufferAreaPlace> Parse(std::string_view text);
};

// The names of all files of append buffers of a device begin with this.
[[nodiscard]] std::string BufferAreaNamePrefix(std::string_view identity);

}  // namespace zenfs
