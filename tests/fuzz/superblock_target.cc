// Superblocks. The input is a byte that says whether the CRC is corrected, without which no input
// would pass, then the 4096 bytes, without trailing zeros.
#include "format/superblock.h"

#include <array>

#include "base/crc32c.h"
#include "input.h"

namespace zenfs {
namespace {

constexpr std::size_t kCrcAt = 8;  // docs/formats/superblock.md; covers everything after it

using Image = std::array<std::byte, kSuperblockBytes>;

void FixCrc(Image& image) {
  const std::uint32_t crc = Crc32c(ByteView(image).subspan(kCrcAt + sizeof crc));
  std::memcpy(image.data() + kCrcAt, &crc, sizeof crc);
}

void CheckDecoded(const Superblock& decoded) {
  Require(CheckSuperblock(decoded).ok(), "what decodes could have been written");
  const std::string written = EncodeSuperblock(decoded);
  const auto again = DecodeSuperblock(AsBytes(written));
  Require(again.has_value() && *again == decoded, "a superblock survives being written");
  Require(EncodeSuperblock(*again) == written, "the same superblock is the same bytes");
  static_cast<void>(CheckWritable(decoded).ok());
}

void CheckClone(Image image, const Superblock& original) {
  const Uuid uuid = *Uuid::Parse("0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0");
  Require(MakeClone(image, uuid).ok(), "a superblock that decodes can be cloned");
  const auto clone = DecodeSuperblock(image);
  Require(clone.has_value() && clone->uuid == uuid && clone->aux_path.empty(), "a clone is another volume");
  Superblock expected = original;
  expected.uuid = uuid;
  expected.aux_path.clear();
  expected.aux_secret = {};
  Require(*clone == expected, "a clone is the same in all else");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const auto mode = input.Take<std::uint8_t>();
  Image image{};
  const ByteView bytes = input.Bytes(image.size());
  if (!bytes.empty()) std::memcpy(image.data(), bytes.data(), bytes.size());
  if (mode % 8 != 0) FixCrc(image);
  if (mode % 8 == 1) {  // with its original length
    static_cast<void>(DecodeSuperblock(bytes).has_value());
    return 0;
  }
  const auto decoded = DecodeSuperblock(image);
  if (decoded) {
    CheckDecoded(*decoded);
    CheckClone(image, *decoded);
  } else {
    const Image before = image;
    Require(!MakeClone(image, Uuid{}).ok() && image == before, "what does not decode is left as it is");
  }
  return 0;
}
