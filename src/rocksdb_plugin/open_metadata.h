// Data that RocksDB may keep in its MANIFEST about a table and pass when it opens the table again
// (DBOptions::fast_sst_open, since 11.2): the ids of volume and file, in 24 bytes. It saves a
// read-only mount the search for newer names on the device. It is a hint: a copied or restored
// table comes with the hint of another file, and is opened by its name. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

[[nodiscard]] std::string OpenMetadataOf(const MountedFile& file);

// Returns kNoFile if `metadata` is not the OpenMetadataOf a file of this volume.
[[nodiscard]] FileId FileOfOpenMetadata(const Volume& volume, std::string_view metadata);

}  // namespace zenfs
