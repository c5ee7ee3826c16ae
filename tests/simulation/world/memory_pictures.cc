#include "world/memory_pictures.h"

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

using Contents = SharedMemoryFiles::Contents;

// As a careless or ill-meaning program on the host might leave it: cut, or with other bytes somewhere.
void Tamper(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  if (random.OneIn(4)) {
    bytes.resize(random.Below(bytes.size()));
    return;
  }
  const std::uint64_t places = 1 + random.Below(20);
  // Most of a file is unused; its beginning is not.
  const std::uint64_t within = random.OneIn(2) ? bytes.size() : std::min<std::uint64_t>(bytes.size(), 16384);
  for (std::uint64_t i = 0; i < places; ++i)
    bytes[random.Below(within)] ^= static_cast<char>(1u << random.Below(8));
}

// The files of `left`, each with what one of `other` holds.
void PutInPlace(const Contents& left, const Contents& other, const char* what,
                std::vector<MemoryPicture>& pictures) {
  if (other.empty() || left.empty()) return;
  MemoryPicture picture{what, {}};
  for (const auto& [name, bytes] : left) picture.contents[name] = other.begin()->second;
  pictures.push_back(std::move(picture));
}

}  // namespace

std::vector<MemoryPicture> MemoryPictures(const Contents& left, const Contents& earlier,
                                          const Contents& foreign, Random& random) {
  std::vector<MemoryPicture> pictures = {{"without its shared memory", {}},
                                         {"with changed shared memory", left}};
  for (auto& [name, bytes] : pictures.back().contents) Tamper(bytes, random);
  PutInPlace(left, earlier, "with the shared memory of an earlier mount", pictures);
  PutInPlace(left, foreign, "with the shared memory of another volume", pictures);
  return pictures;
}

}  // namespace zenfs
