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
  // Returns nothing if ToText cannot have made `text`. An image may say anything here, so a path that is not that of append
  // buffers is nothing too: absolute, without empty components, "." and "..", and with a name of theirs.
  static std::optional<BufferAreaPlace> Parse(std::string_view text);
};

// The names of all files of append buffers of a device begin with this.
[[nodiscard]] std::string BufferAreaNamePrefix(std::string_view identity);
// True if a file of append buffers can have this name: "zenfs-", 16 hexadecimal digits for the device, "-", and 16 more.
[[nodiscard]] bool IsBufferAreaName(std::string_view name);

}  // namespace zenfs
