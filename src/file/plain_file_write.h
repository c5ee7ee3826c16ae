// Device writes of a plain file. What was written is in an extent afterwards, with the checksum of its bytes.
//
// Threads: the caller holds the lock of the file, also during the write.
// Units: bytes.
// Errors: kNoSpace and kTimedOut if no zone is free within the deadline; the device's, which stay in `file.health`. An
// error leaves the content unchanged.
#pragma once

#include <cstdint>

#include "file/plain_file_parts.h"

namespace zenfs {

// Writes the first `bytes` of the tail buffer: whole blocks, or the whole tail with padding. The last `kept` of them also
// stay in the buffer.
[[nodiscard]] Status WriteTail(PlainFileParts& file, std::size_t bytes, std::size_t kept)
    REQUIRES(file.mutex);

// Writes the tail buffer except its last block.
[[nodiscard]] Status WriteWholeBlocks(PlainFileParts& file) REQUIRES(file.mutex);

// Writes the tail buffer, with padding, unless all bytes are written. The last block also stays in the buffer.
[[nodiscard]] Status WriteWholeTail(PlainFileParts& file) REQUIRES(file.mutex);

// Appends `bytes` without a copy: writes them together with the tail buffer, which is empty afterwards. Both are whole
// blocks. `crc`: that of `bytes`.
[[nodiscard]] Status WriteGathered(PlainFileParts& file, ByteView bytes, std::uint32_t crc)
    REQUIRES(file.mutex);

}  // namespace zenfs
