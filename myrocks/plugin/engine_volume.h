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
  // Mounts the volume of `uri` ("zenfs://dev:nvme0n1"). Errors: those of FileSystemOfUri.
  [[nodiscard]] static Result<std::unique_ptr<EngineVolume>> Mount(const std::string& uri);
  // Unmounts if Unmount was not called, and ignores its error.
  ~EngineVolume();
  EngineVolume(const EngineVolume&) = delete;
  EngineVolume& operator=(const EngineVolume&) = delete;

  // Gives Env::Default() its own files again, writes all buffered bytes to the device and releases it. The engine's options
  // keep the file system alive until the process ends; its calls fail from now on. Returns the first error.
  [[nodiscard]] Status Unmount();

  Volume& volume() const { return *volume_; }

  // Removes a checkpoint that the engine made (rocksdb_create_checkpoint): a directory with files only. The engine itself
  // removes none. Errors: kBusy if a database is open there; kIsADirectory if a directory is in it; those of the volume.
  // A failed removal may have removed some files.
  [[nodiscard]] Status RemoveCheckpoint(const std::string& path);

 private:
  EngineVolume(std::shared_ptr<Volume> volume, std::shared_ptr<rocksdb::FileSystem> file_system);

  const std::shared_ptr<Volume> volume_;
  std::shared_ptr<rocksdb::FileSystem> files_of_host_;  // null after Unmount
};

}  // namespace zenfs::myrocks
