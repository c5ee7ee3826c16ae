#include "backup/source_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/assert.h"

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

Result<std::size_t> VerifiedSource::Read(std::uint64_t offset, ByteSpan into) {
  ZENFS_ASSERT(offset == offset_);
  Result<std::size_t> read = file_.ReadVerified(offset, into);
  if (!read) {
    failure_ = read.error().With(path_);
    return Fail(*failure_);
  }
  if (const Status compared = Compare(into.first(*read)); !compared.ok()) {
    failure_ = compared.error();
    return Fail(*failure_);
  }
  return read;
}

bool VerifiedSource::Misses(const FileLayout& now, std::uint64_t size) const {
  return std::min(EndOfExtents(now), size) > EndOfExtents(layout_);
}

Status VerifiedSource::Compare(ByteView bytes) {
  while (!bytes.empty() && extent_ < layout_.extents.size()) {
    const Extent& extent = layout_.extents[extent_];
    const ByteView part = bytes.first(std::min<std::uint64_t>(bytes.size(), extent.end() - offset_));
    sum_ = Crc32c(part, sum_);
    offset_ += part.size();
    bytes = bytes.subspan(part.size());
    if (offset_ != extent.end()) continue;
    if (extent.crc && *extent.crc != sum_) {
      const ZoneId zone = geometry_.ZoneOf(extent.place);
      return Fail(
          Code::kCorruption,
          fmt::format("{}: bytes {} to {} do not match their checksum; they are in zone {} from byte {} "
                      "on",
                      path_, extent.file_offset, extent.end(), zone.value,
                      extent.place - geometry_.ZoneStart(zone)));
    }
    sum_ = 0;
    ++extent_;
  }
  offset_ += bytes.size();
  return {};
}

}  // namespace zenfs
