// A client's side of one volume over its mounts: the model of what it wrote, its open handles, and the comparison of both
// with what the volume shows.
//
// Threads: none; one client per thread, all on one volume.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "call_history.h"
#include "model.h"
#include "volume/volume.h"

namespace zenfs {

class VolumeClient : public CallHistory {
 public:
  // `root`: the directory that only this client uses, "" for the whole volume. It exists and is
  // empty.
  VolumeClient(std::shared_ptr<Volume> volume, std::uint64_t seed, const std::string& root);

  const Model& model() const { return model_; }
  Random& random() { return random_; }
  // From now on, random choices follow from `seed` alone.
  void Reseed(std::uint64_t seed) { random_ = Random(seed); }
  // Bytes that identify their origin.
  std::string Bytes(std::size_t count);

  void EmptyZones();  // moves all live data out of full zones
  void Unmount();     // without closing handles
  // For a volume with several clients: each begins, one unmounts, each gets the result.
  void BeginUnmount();
  void Unmounted(const Status& status);
  void Remounted(std::shared_ptr<Volume> volume);  // compares the contents, which then count as certain
  // Accepts the contents of the volume as certain. `durable`: as for Model::Settle, of the whole volume.
  void AdoptFound(const FoundTree* durable = nullptr);
  void DropHandles();
  void DropHandle(const std::string& handle) { handles_.erase(handle); }
  FileShape ShapeOf(const std::string& handle) const { return handles_.at(handle).file->shape; }
  SpaceReport Space() const { return volume_->Space(); }
  // Fails if the volume's contents differ from the model.
  void Compare();
  // Reads everything through a read-only mount of `device`, beside the read-write one. It must show what a crash of `kind` may
  // leave at this moment.
  void ReadBeside(ZonedDevice& device, CrashKind kind);

 protected:
  struct Handle {
    std::unique_ptr<FileHandle> open;
    ModelFileRef file;
    std::string path;
  };

  // The result of the call that the model has begun.
  void Finish(const Status& status, const std::string& what);

  std::shared_ptr<Volume> volume_;
  Model model_;
  Random random_;
  std::map<std::string, Handle> handles_;
};

}  // namespace zenfs
