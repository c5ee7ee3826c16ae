// Flushes of a plain file: its uncommitted part goes to an append buffer, which survives the death of the process.
//
// A mount uses the flushed part of a file only if it makes the file longer than the committed one. So a change that does
// not must be committed.
//
// Threads: the caller holds the lock of the file, also during device writes. Errors: those of WriteTail.
#pragma once

#include "file/plain_file_parts.h"

namespace zenfs {

// Returns true if the whole file now survives the process. May write whole blocks of the tail buffer to the device.
[[nodiscard]] Result<bool> FlushTail(PlainFileParts& file) REQUIRES(file.mutex);

// Call this after a cut of the content. Once the shorter file is committed, the kept part must not be longer than it.
void CutFlushed(PlainFileParts& file) REQUIRES(file.mutex);

}  // namespace zenfs
