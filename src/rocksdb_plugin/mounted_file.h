// An open file for RocksDB's file classes: the handle, and the volume, which stays mounted as long
// as the handle is open (RocksDB may destroy its FileSystem object before the last file). And what
// the classes share: reads into RocksDB's memory, the identifier of a file, and the hint for its next opening.
//
// Threads: the functions keep no state; a handle is as safe as volume/file_handle.h says.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "rocksdb_plugin/rocksdb_version.h"
#include "volume/volume.h"

namespace zenfs {

struct MountedFile {
  std::shared_ptr<Volume> volume;  // declared first: destroyed after the handle
  std::unique_ptr<FileHandle> handle;
  std::string path;  // for messages

  std::size_t block_size() const { return volume->info().geometry.block_size; }
  // Framed files are buffered, whatever RocksDB's direct I/O options say.
  bool MayBeDirect() const { return handle->shape() == FileShape::kPlain; }
};

// Sets `result` to the bytes at [offset, offset + n): fewer only at the end of the file, none on an
// error. `scratch`, RocksDB's memory, is not null unless `n` is 0.
[[nodiscard]] IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result,
                                char* scratch, ReadSource source = ReadSource::kDevice);

inline ByteSpan ScratchBytes(char* scratch, std::size_t n) {
  return std::as_writable_bytes(std::span(scratch, n));
}

// Writes an identifier after RocksDB's contract (FSRandomAccessFile::GetUniqueId): the same at each
// opening, never given to another file, never the prefix of another identifier, not a single
// varint. It consists of three varints: the halves of the volume's UUID and the file's id. Returns
// its length, or 0 if `max_size` is too small for any identifier.
std::size_t WriteUniqueId(const MountedFile& file, char* id, std::size_t max_size);

// Data that RocksDB may keep in its MANIFEST about a table and pass when it opens the table again
// (DBOptions::fast_sst_open, since 11.2): the ids of volume and file, in 24 bytes. It saves a
// read-only mount the search for newer names on the device. It is a hint: a copied or restored
// table comes with the hint of another file, and is opened by its name.
[[nodiscard]] std::string OpenMetadataOf(const MountedFile& file);
// Returns kNoFile if `metadata` is not the OpenMetadataOf a file of this volume.
[[nodiscard]] FileId FileOfOpenMetadata(const Volume& volume, std::string_view metadata);

}  // namespace zenfs
