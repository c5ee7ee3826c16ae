// Identifies the content of a file without reading it.
#pragma once

#include <cstdint>

#include "base/crc32c.h"
#include "volume/volume.h"

namespace zenfs {

struct ContentMark {
  // Checksum of the whole file, if the metadata has checksums of all its bytes. Then it decides
  // alone.
  KnownCrc sum;
  // A hash of the places of the bytes and the number of the last frame; never 0. It differs after
  // each change of a log, because frame numbers are not used twice. It differs after each change of
  // a plain file, unless zones were reset in between and written in the same way. Reclaim may
  // change it without a change of the file, because it moves bytes.
  std::uint64_t layout = 0;

  // `size`: the size of the file to compare, in bytes.
  static ContentMark Of(const FileLayout& layout, std::uint64_t size);
};

}  // namespace zenfs
