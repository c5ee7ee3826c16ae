// The head of a metadata copy (docs/formats/metadata-copy.md), for inputs that pass its checksum.
#pragma once

#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "format/metadata_copy.h"

namespace zenfs {

inline void FixCopyCrc(std::span<std::byte, kMetadataCopyHeadBytes> head) {
  constexpr std::size_t kCrcAt = 12;  // covers everything after it
  const std::uint32_t crc = Crc32c(ByteView(head).subspan(kCrcAt + sizeof crc));
  std::memcpy(head.data() + kCrcAt, &crc, sizeof crc);
}

}  // namespace zenfs
