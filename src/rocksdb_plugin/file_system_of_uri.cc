#include "rocksdb_plugin/file_system_of_uri.h"

#include "rocksdb_plugin/aux_file_system.h"
#include "rocksdb_plugin/mount_uri.h"

namespace zenfs {

Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, MountUri(uri));
  std::string aux_path = volume->superblock().aux_path;
  auto file_system = std::make_unique<ZenFileSystem>(uri, std::move(volume));
  if (aux_path.empty()) return file_system;
  auto with_aux = std::make_unique<AuxFileSystem>(std::move(file_system), std::move(aux_path));
  const IOStatus usable = with_aux->aux().Check();
  if (!usable.ok())
    return Fail(Code::kIo, usable.getState() == nullptr ? usable.ToString() : usable.getState());
  return with_aux;
}

}  // namespace zenfs
