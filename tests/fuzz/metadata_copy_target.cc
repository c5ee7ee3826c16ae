// Heads of metadata copies. The input is a byte that says whether the CRC is corrected, then the
// 4096 bytes, without trailing zeros.
#include <array>

#include "input.h"
#include "metadata_copy_head.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const bool fixes_crc = input.Take<std::uint8_t>() % 8 != 0;
  std::array<std::byte, kMetadataCopyHeadBytes> head{};
  const ByteView bytes = input.Bytes(head.size());
  if (!bytes.empty()) std::memcpy(head.data(), bytes.data(), bytes.size());
  if (fixes_crc) FixCopyCrc(head);
  static_cast<void>(DecodeMetadataCopy(bytes).has_value());  // with its original length
  const auto decoded = DecodeMetadataCopy(head);
  if (!decoded) return 0;
  const std::string written = EncodeMetadataCopy(*decoded);
  const auto again = DecodeMetadataCopy(AsBytes(written));
  Require(again.has_value() && *again == *decoded, "a head survives being written");
  return 0;
}
