#include "buffers/buffer_area_place.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace zenfs {

std::string BufferAreaPlace::ToText() const { return boot + " " + path; }

std::optional<BufferAreaPlace> BufferAreaPlace::Parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 >= text.size() || text[space + 1] != '/') {
    return std::nullopt;
  }
  return BufferAreaPlace{.boot = std::string(text.substr(0, space)),
                         .path = std::string(text.substr(space + 1))};
}

std::string BufferAreaNamePrefix(std::string_view identity) {
  return fmt::format("zenfs-{:08x}{:08x}-", Crc32c(AsBytes(identity)), Crc32c(AsBytes(identity), 1));
}

}  // namespace zenfs
