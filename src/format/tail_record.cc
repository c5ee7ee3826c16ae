#include "format/tail_record.h"

#include <span>
#include <utility>
#include <variant>
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

Result<TailRecord> DecodeTailRecord(ByteView bytes) {
  Decoder decoder(bytes);
  TailRecord record{.order = decoder.Fixed<std::uint64_t>(), .uncommitted = {}};
  if (!decoder.ok()) return Fail(Code::kCorruption, "a tail record that is too short");
  ZENFS_ASSIGN_OR_RETURN(std::vector<Edit> edits, DecodeEdits(bytes.subspan(sizeof(record.order))));
  if (edits.empty()) return record;
  SetExtents* const uncommitted = std::get_if<SetExtents>(&edits.front());
  if (edits.size() != 1 || uncommitted == nullptr) {
    return Fail(Code::kCorruption, "a tail record with edits other than one SetExtents");
  }
  record.uncommitted = std::move(*uncommitted);
  return record;
}

}  // namespace zenfs
