#include "base/zero_pages.h"

#include <sys/mman.h>

#include <new>

namespace zenfs {

std::shared_ptr<std::byte[]> MakeZeroPages(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), [bytes](std::byte* pages) { munmap(pages, bytes); }};
}

}  // namespace zenfs
