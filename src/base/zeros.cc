#include "base/zeros.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace zenfs {

std::shared_ptr<std::byte[]> MakeZeroPages(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), [bytes](std::byte* pages) { munmap(pages, bytes); }};
}

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
