// What RocksDB may keep in its MANIFEST about a table and brings along when it opens it again
// (DBOptions::fast_sst_open, since 11.2): which file of which volume it is, in 24 bytes. A read-only mount then
// need not look for newer names on the device. It is a hint: a table that was copied or restored brings that of
// another file, and is opened by its name. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

[[nodiscard]] std::string OpenMetadataOf(const MountedFile& file);

// kNoFile for what is not OpenMetadataOf a file of this volume.
[[nodiscard]] FileId FileOfOpenMetadata(const Volume& volume, std::string_view metadata);

}  // namespace zenfs
