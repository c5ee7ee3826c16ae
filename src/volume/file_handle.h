// An open file. Any number of handles may be open on one file, for reading and for writing. All of them see the same bytes,
// including those not yet synced. If a file is deleted or replaced, it exists without a name until its last handle is
// destroyed.
//
// Durability, as RocksDB documents it: after Flush, the appended bytes and the file's name survive the death of the process;
// after Sync, they survive a power loss.
//
// Write errors (docs/internals/faults.md): those of a plain file are sticky; every later Append, Sync and Close returns them.
// A framed file keeps the bytes that could not be written, and the next Flush, Sync or Close writes all of them again. After
// an Append that failed, no later Append succeeds.
//
// Threads: any, also on one handle. Concurrent Appends are atomic towards each other; their order is undefined. A reader may see
// the front of an Append to a framed file that has not returned.
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
  virtual ~FileHandle() = default;  // closes, but only counts an error; call Close to get it

  // Reads at most into.size() bytes from `offset`, fewer only at the end of the file. Returns the number of bytes read.
  // `source`: whether the host's cache may answer. Framed files are always read from the device.
  [[nodiscard]] virtual Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                                 ReadSource source) const = 0;
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const {
    return Read(offset, into, ReadSource::kDevice);
  }
  // The same, and verifies each frame of a framed file that it reads, as a whole. Bytes in extents are not verified: an extent
  // has one checksum, which Volume::Layout returns. Errors: also kCorruption.
  [[nodiscard]] virtual Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const = 0;
  // Sends several reads together. Shortens the `into` of each request to the bytes read.
  virtual void ReadMany(std::span<ReadRequest> requests, ReadSource source) const = 0;
  void ReadMany(std::span<ReadRequest> requests) const { ReadMany(requests, ReadSource::kDevice); }
  // Starts a Read and returns; Finish of the result fills `into`. It is a call inside of the volume until the result is destroyed:
  // an unmount waits for it. It reads before it returns where Volume::StartsReads is false, from a framed file, and from the
  // aux directory.
  [[nodiscard]] virtual std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                               ReadSource source) const {
    return std::make_unique<FinishedRead>(Read(offset, into, source));
  }
  // Advises the host's cache about [offset, offset + length): a hint for later reads with ReadSource::kCache.
  virtual void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const = 0;

  // The following functions return kReadOnly on a handle opened for reading, and on a read-only mount.

  // `crc`, if given, is the caller's CRC-32C of the bytes; a plain file commits it with them. Errors: kCorruption if the
  // bytes do not match it; then none of them is appended, and later appends can succeed.
  [[nodiscard]] virtual Status Append(ByteView bytes, KnownCrc crc) = 0;
  [[nodiscard]] Status Append(ByteView bytes) { return Append(bytes, std::nullopt); }
  // `offset` is the end of the file, or lies in its last block; then the bytes from there on are overwritten.
  [[nodiscard]] virtual Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) = 0;
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset) {
    return PositionedAppend(bytes, offset, std::nullopt);
  }
  // `size` is at most the present size. When this returns, the change survives the death of the process: the bytes behind
  // `size` do not come back, and of those in front of it all that were flushed are there. For a framed file, the change is
  // also durable; for a plain file, it is with the next Sync or Close. Errors: also kCorruption or a read error, which leave
  // the file as it is, if the cut divides an extent with damaged bytes: nobody can say on which side of the cut they are.
  [[nodiscard]] virtual Status Truncate(std::uint64_t size) = 0;
  [[nodiscard]] virtual Status Flush() = 0;
  [[nodiscard]] virtual Status Sync() = 0;
  // Writes the buffered bytes to the device and commits the name and size. Idempotent.
  [[nodiscard]] virtual Status Close() = 0;
  // Affects zones that are chosen from now on.
  virtual void SetLifetime(Lifetime lifetime) = 0;

  virtual std::uint64_t size() const = 0;
  virtual FileId id() const = 0;
  virtual FileShape shape() const = 0;
};

}  // namespace zenfs
