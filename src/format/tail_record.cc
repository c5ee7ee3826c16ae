#include "format/tail_record.h"

#include <algorithm>
#include <vector>

#include "base/coding.h"
#include "format/edit_codec.h"

namespace zenfs {

std::string EncodeTailRecord(const TailRecord& record) {
  std::string bytes;
  PutFixed(bytes, record.order);
  std::vector<Edit> edits;
  if (record.uncommitted) edits.emplace_back(*record.uncommitted);
  EncodeEdits(edits, bytes);
  return bytes;
}

Result<TailRecord> DecodeTailRecord(ByteView bytes, std::uint64_t extents_max) {
  Decoder decoder(bytes);
  TailRecord record{.order = decoder.Fixed<std::uint64_t>(), .uncommitted = {}};
  if (!decoder.ok()) return Fail(Code::kCorruption, "a tail record that is too short");
  ZENFS_ASSIGN_OR_RETURN(record.uncommitted,
                         DecodeOneSetExtents(bytes.subspan(sizeof(record.order)), extents_max));
  // No writer makes one, and it may be three zeros in a hole of the file.
  if (record.uncommitted && std::ranges::any_of(record.uncommitted->extents,
                                                [](const Extent& extent) { return extent.length == 0; })) {
    return Fail(Code::kCorruption, "a tail record with an extent of 0 bytes");
  }
  return record;
}

}  // namespace zenfs
