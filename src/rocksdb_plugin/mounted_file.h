// An open file for RocksDB's file classes: the handle, and the volume, which stays mounted as long
// as the handle is open (RocksDB may destroy its FileSystem object before the last file).
#pragma once

#include <memory>
#include <string>

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

// Writes an identifier after RocksDB's contract (FSRandomAccessFile::GetUniqueId): the same at each
// opening, never given to another file, never the prefix of another identifier, not a single
// varint. It consists of three varints: the halves of the volume's UUID and the file's id. Returns
// its length, or 0 if `max_size` is too small for any identifier.
std::size_t WriteUniqueId(const MountedFile& file, char* id, std::size_t max_size);

}  // namespace zenfs
