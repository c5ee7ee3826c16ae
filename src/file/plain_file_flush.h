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

// Call this after a cut of the content. If a mount then finds the shorter file, cuts the kept part too, or keeps the rest of
// it. Otherwise leaves it as it is: until the shorter file is committed, a mount finds the one from before the cut.
void CutFlushed(PlainFileParts& file) REQUIRES(file.mutex);

// True if a mount would find bytes behind the end of the file, because they were committed or flushed before a cut. Then the
// cut must be committed.
[[nodiscard]] bool MountFindsMore(const PlainFileParts& file) REQUIRES(file.mutex);

}  // namespace zenfs
