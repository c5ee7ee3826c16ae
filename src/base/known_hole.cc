#include "base/known_hole.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zenfs {

std::uint64_t KnownHole(int fd, std::uint64_t offset, std::uint64_t length) {
  const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (data >= 0) return std::min(length, static_cast<std::uint64_t>(data) - offset);
  if (errno != ENXIO) return 0;
  // Only a hole from here on, or the end of the file.
  const off_t end = ::lseek(fd, 0, SEEK_END);
  const bool is_hole = end >= 0 && offset <= static_cast<std::uint64_t>(end) &&
                       length <= static_cast<std::uint64_t>(end) - offset;
  return is_hole ? length : 0;
}

}  // namespace zenfs
