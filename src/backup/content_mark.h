// What tells, without reading a file, whether it still holds what it held before.
#pragma once

#include <cstdint>

#include "base/crc32c.h"
#include "volume/volume.h"

namespace zenfs {

struct ContentMark {
  // Of all bytes of the file, if the metadata has checksums of all of them. Then nothing else is needed.
  KnownCrc sum;
  // A hash of where the bytes lie and of the number of the last frame; never 0. It differs after each change of a log, as the
  // numbers of frames are not used twice; and of a plain file unless zones were reset in between and written
  // alike. It may also differ without a change, after reclaim has moved bytes.
  std::uint64_t layout = 0;

  // `size`: of the file, as it is to be compared.
  static ContentMark Of(const FileLayout& layout, std::uint64_t size);
};

}  // namespace zenfs
