#include "backup/verified_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/crc32c.h"

namespace zenfs {

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
