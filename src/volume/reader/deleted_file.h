// Reads of a file that its writer has deleted since a reader opened it. On POSIX such a file can be read until it is closed.
// Here its bytes stay on the device until their zones are reset, which the reader does not see. So each byte that is
// returned is proven by its checksum: that of the whole frame, whose seed belongs to this incarnation of its log zone, or
// that of the whole extent, from the metadata.
//
// Threads: functions on values, no state.
#pragma once

#include <span>

#include "base/status.h"
#include "file/extent_reader.h"
#include "volume/reader/live_state.h"

namespace zenfs {

// An extent is read whole for any byte of it. Longer ones are not read.
inline constexpr std::uint64_t kProvenExtentMax = std::uint64_t{32} << 20;

// Fills the requests, which end at most at file.size(), with bytes of `file`, the last layout that was known of it.
// Errors: kNotFound if a byte can't be proven.
[[nodiscard]] Status ReadDeleted(ZonedDevice& device, const LiveState& live, const LiveFile& file,
                                 std::span<ReadRequest> requests);

}  // namespace zenfs
