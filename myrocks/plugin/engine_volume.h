// The volume that the engine keeps its database in.
#pragma once

#include <memory>
#include <string>

#include "rocksdb_plugin/rocksdb_version.h"
#include "volume/volume.h"

namespace zenfs::myrocks {

// While an object of this class lives, the files of rocksdb::Env::Default(), which is the Env of the engine, are those of
// the volume.
//
// Threads: construct and destroy it while no database is open. volume() may be called from any thread.
class EngineVolume {
 public:
  // Mounts the volume of `uri` ("zenfs://dev:nvme0n1"). `data_directory`: where the engine keeps its database in it. Errors:
  // those of VolumeOfUri.
  [[nodiscard]] static Result<std::unique_ptr<EngineVolume>> Mount(const std::string& uri,
                                                                   const std::string& data_directory);
  // Unmounts if Unmount was not called, and ignores its error.
  ~EngineVolume();
  EngineVolume(const EngineVolume&) = delete;
  EngineVolume& operator=(const EngineVolume&) = delete;

  // Gives Env::Default() its own files again, writes all buffered bytes to the device and releases it. The engine's options
  // keep the file system alive until the process ends; its calls fail from now on. Returns the first error.
  [[nodiscard]] Status Unmount();

  Volume& volume() const { return *volume_; }

  // Removes a checkpoint that the engine made (rocksdb_create_checkpoint) and that nobody opened as a database since. The
  // engine itself removes none. Errors, with nothing removed: kBusy for the directory of the database and those above it, and
  // for one that was opened; kIsADirectory if a directory is in it; kNotSupported for whatever the engine did not make as a
  // checkpoint. Those of the volume: some files may be removed then, and a second call removes the rest.
  [[nodiscard]] Status RemoveCheckpoint(const std::string& path);

 private:
  EngineVolume(std::shared_ptr<Volume> volume, std::shared_ptr<rocksdb::FileSystem> file_system,
               std::string data_directory);

  const std::shared_ptr<Volume> volume_;                // with its aux directory: a LOCK may be there
  const std::string data_directory_;                    // normalised
  std::shared_ptr<rocksdb::FileSystem> files_of_host_;  // null after Unmount
};

}  // namespace zenfs::myrocks
