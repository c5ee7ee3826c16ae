#include "world/memory_images.h"

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

using Contents = SharedMemoryFiles::Contents;

// Damages a file as a careless or hostile program on the host might: cuts it, or changes bytes.
void Tamper(SparseFile& file, Random& random) {
  if (file.size == 0) return;
  if (random.OneIn(4)) return file.Cut(random.Below(file.size));
  const std::uint64_t places = 1 + random.Below(20);
  // Most of a file is unused, but not its beginning.
  const std::uint64_t within = random.OneIn(2) ? file.size : std::min<std::uint64_t>(file.size, 16384);
  for (std::uint64_t i = 0; i < places; ++i)
    file.Flip(random.Below(within), static_cast<char>(1u << random.Below(8)));
}

// Replaces each file of `left` by a file of `other`.
void PutInPlace(const Contents& left, const Contents& other, const char* what,
                std::vector<MemoryImage>& images) {
  if (other.empty() || left.empty()) return;
  MemoryImage image{what, {}};
  for (const auto& [name, bytes] : left) image.contents[name] = other.begin()->second;
  images.push_back(std::move(image));
}

}  // namespace

std::vector<MemoryImage> MemoryImages(const Contents& left, const Contents& earlier, const Contents& foreign,
                                      Random& random) {
  std::vector<MemoryImage> images = {{"without its shared memory", {}}, {"with changed shared memory", left}};
  for (auto& [name, bytes] : images.back().contents) Tamper(bytes, random);
  PutInPlace(left, earlier, "with the shared memory of an earlier mount", images);
  PutInPlace(left, foreign, "with the shared memory of another volume", images);
  return images;
}

}  // namespace zenfs
