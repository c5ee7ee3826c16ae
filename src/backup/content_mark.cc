#include "backup/content_mark.h"

#include <span>

namespace zenfs {
namespace {

// FNV-1a over 64-bit numbers.
class Hash {
 public:
  void Add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8) {
      value_ = (value_ ^ (number & 0xff)) * 0x100000001b3;
    }
  }
  void Add(std::span<const Extent> extents) {
    Add(extents.size());
    for (const Extent& extent : extents) {
      Add(extent.file_offset);
      Add(extent.place.value);
      Add(extent.length);
      Add(extent.crc ? *extent.crc : ~std::uint64_t{0});
    }
  }
  std::uint64_t value() const { return value_ == 0 ? 1 : value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

KnownCrc SumOf(const FileLayout& layout, std::uint64_t size) {
  std::uint32_t sum = 0;
  std::uint64_t end = 0;
  for (const std::vector<Extent>* const part : {&layout.extents, &layout.flushed}) {
    for (const Extent& extent : *part) {
      if (!extent.crc) return std::nullopt;
      sum = Crc32cWhole(sum, *extent.crc, extent.length);
      end = extent.end();
    }
  }
  return layout.frames.empty() && end == size ? KnownCrc(sum) : std::nullopt;
}

}  // namespace

ContentMark ContentMark::Of(const FileLayout& layout, std::uint64_t size) {
  Hash hash;
  hash.Add(layout.extents);
  hash.Add(layout.frames);
  if (!layout.flushed.empty()) hash.Add(layout.flushed);
  hash.Add(layout.last_sequence);
  return {.sum = SumOf(layout, size), .layout = hash.value()};
}

}  // namespace zenfs
