// The record before the flushed tail of a plain file in an append buffer:
// docs/formats/shared-memory.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "model/edit.h"

namespace zenfs {

struct TailRecord {
  // Among the records of one file, the one with the highest order counts.
  std::uint64_t order = 0;
  // Uncommitted extents on the device, followed by the tail. If nothing, the tail follows the
  // committed extents.
  std::optional<SetExtents> uncommitted;

  friend bool operator==(const TailRecord&, const TailRecord&) = default;
};

[[nodiscard]] std::string EncodeTailRecord(const TailRecord& record);
// Takes any bytes. Errors: kCorruption for bytes that no writer makes, and for more than `extents_max` extents, before they
// take memory; kNotSupported as DecodeEdits.
[[nodiscard]] Result<TailRecord> DecodeTailRecord(ByteView bytes, std::uint64_t extents_max);

}  // namespace zenfs
