// An open file as RocksDB's file classes hold it: the handle, and the volume kept mounted as long as the
// handle is open (RocksDB may destroy its FileSystem object before the last file).
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

  std::size_t block_size() const { return volume->geometry().block_size; }
  // Framed files are written and read through a buffer whatever RocksDB's direct I/O options say.
  bool MayBeDirect() const { return handle->shape() == FileShape::kPlain; }
};

// An identifier by RocksDB's contract (FSRandomAccessFile::GetUniqueId): the same at each opening, never
// given to another file, no identifier the prefix of another, not a single varint. Three varints: the two
// halves of the volume's UUID and the file's id. Returns its length, or 0 when `max_size` is too small for
// any.
std::size_t WriteUniqueId(const MountedFile& file, char* id, std::size_t max_size);

}  // namespace zenfs
