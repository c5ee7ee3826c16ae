#include "base/known_hole.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zenfs {

std::uint64_t KnownHole(int fd, std::uint64_t offset, std::uint64_t length) {
  const auto from = static_cast<off_t>(offset);
  const off_t data = ::lseek(fd, from, SEEK_DATA);
  if (data >= 0) return std::min(length, static_cast<std::uint64_t>(data - from));
  // ENXIO: only a hole from here on, or the end of the file.
  const bool is_hole = errno == ENXIO && ::lseek(fd, 0, SEEK_END) >= from + static_cast<off_t>(length);
  return is_hole ? length : 0;
}

}  // namespace zenfs
