// Appends to a plain file. Each byte is summed once, before it is copied into the tail buffer or written.
//
// Threads: the caller holds the lock of the file, also during device writes.
// Units: bytes, file offsets.
// Errors: those of PlainFile::Append and PositionedAppend. A failed append changes nothing but the place of the bytes
// before it.
#pragma once

#include <cstdint>

#include "file/plain_file_parts.h"

namespace zenfs {

// Copies `bytes` into the tail buffer, and writes full buffers to the device. Writes large aligned appends without a copy,
// except their last block. `crc`: that of `bytes` if the caller knows it; it is verified.
[[nodiscard]] Status AppendTo(PlainFileParts& file, ByteView bytes, KnownCrc crc) REQUIRES(file.mutex);

// Overwrites the tail buffer from `offset` on and appends the rest of `bytes`. Loads the last block of the file if the
// buffer is empty.
[[nodiscard]] Status OverwriteTail(PlainFileParts& file, std::uint64_t offset, ByteView bytes, KnownCrc crc)
    REQUIRES(file.mutex);

// Cuts the file at `size` <= its size, and its flushed part. `front`: see PlainContent::CrcWhenCut.
void CutFile(PlainFileParts& file, std::uint64_t size, KnownCrc front) REQUIRES(file.mutex);

}  // namespace zenfs
