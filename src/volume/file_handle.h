// An open file. Any number of handles may be open on one file, for reading, writing or both at once; all see
// the same bytes, those not yet synced included. A file that is deleted or replaced while handles are open
// lives on, nameless, until the last of them is destroyed.
//
// Durability, as RocksDB documents it: Flush makes what was appended, and the file's name, survive the death of the process,
// Sync the loss of power. Of a plain file errors of writing are sticky and come back from every later
// Append, Sync and Close. A framed file keeps what could not be written, and the next Flush, Sync or Close tries again, for
// all of it; only an Append that failed is final, for appends (docs/internals/faults.md).
//
// Threads: any, on one handle too. Concurrent Appends are each atomic, their order is not defined.
#pragma once

#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "file/extent_reader.h"
#include "model/file_record.h"

namespace zenfs {

class FileHandle {
 public:
  virtual ~FileHandle() = default;  // as Close, but its error is only counted; call Close

  // Reads at most into.size() bytes from `offset`, fewer only at the end of the file; returns how many.
  [[nodiscard]] virtual Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const = 0;
  // Several reads, in flight together; each request's `into` is shortened to what was read.
  virtual void ReadMany(std::span<ReadRequest> requests) const = 0;

  // The following fail with kReadOnly on a handle opened for reading and on a read-only volume.
  // `crc`, if given, is the CRC-32C that the bytes had when they were made. kCorruption if they have another one now:
  // nothing of them is kept, and the file can be written on. Of a plain file it is the sum that is committed with them.
  [[nodiscard]] virtual Status Append(ByteView bytes, KnownCrc crc) = 0;
  [[nodiscard]] Status Append(ByteView bytes) { return Append(bytes, std::nullopt); }
  // `offset` is the end of the file, or lies in its last block, which is then overwritten from there.
  [[nodiscard]] virtual Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) = 0;
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset) {
    return PositionedAppend(bytes, offset, std::nullopt);
  }
  // To equal or shorter. Of a framed file durable at once, of a plain one with the next Sync or Close; the next Flush of more
  // bytes makes it survive the process.
  [[nodiscard]] virtual Status Truncate(std::uint64_t size) = 0;
  [[nodiscard]] virtual Status Flush() = 0;
  [[nodiscard]] virtual Status Sync() = 0;
  // Hands what is buffered to the device and commits the name and size. Idempotent.
  [[nodiscard]] virtual Status Close() = 0;
  // Takes effect for zones chosen from now on.
  virtual void SetLifetime(Lifetime lifetime) = 0;

  virtual std::uint64_t size() const = 0;
  virtual FileId id() const = 0;
  virtual FileShape shape() const = 0;
  virtual Lifetime lifetime() const = 0;
};

}  // namespace zenfs
