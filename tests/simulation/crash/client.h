// Does one thing after the other on a mounted volume and keeps the model beside it.
//
// Threads: none; a client for each thread, all on one volume.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/aligned_buffer.h"
#include "base/random.h"
#include "call_history.h"
#include "model.h"
#include "volume/volume.h"

namespace zenfs {

class Client final : public CallHistory {
 public:
  // `root` names the directory that this client keeps to, "" for the whole volume. It is there and empty.
  Client(std::shared_ptr<Volume> volume, std::uint64_t seed, const std::string& root = "");

  const Model& model() const { return model_; }
  Random& random() { return random_; }
  // From now on the dice fall as `seed` says, whatever was thrown before.
  void Reseed(std::uint64_t seed) { random_ = Random(seed); }
  // Letters that tell where they come from.
  std::string Bytes(std::size_t count);

  // --- files: `handle` is a name for an open handle, of the caller's choice ---
  void Create(const std::string& handle, const std::string& path);
  void Reopen(const std::string& handle, const std::string& path);
  void Append(const std::string& handle, std::size_t count);
  // Writes again from the last block boundary, then on, as a direct writer does.
  void RewriteTail(const std::string& handle, std::size_t count);
  void Truncate(const std::string& handle, std::size_t size);
  void Flush(const std::string& handle);
  void Sync(const std::string& handle);
  // A Sync that the device lets fail; it would be an error if it succeeded. The file can be used on.
  void SyncInVain(const std::string& handle);
  void Close(const std::string& handle);
  // Two stretches of a file, by a handle of its own; fails if they are not what the model says.
  void Read(const std::string& path);
  bool IsOpen(const std::string& handle) const { return handles_.contains(handle); }
  const std::string& PathOf(const std::string& handle) const { return handles_.at(handle).path; }
  std::size_t SizeOf(const std::string& handle) const { return handles_.at(handle).file->live.size(); }
  // Append and Sync, so many times.
  void Log(const std::string& handle, int records, std::size_t count);
  // Create, write, sync, close.
  void WriteFile(const std::string& path, std::size_t count);

  // --- names ---
  void Unlink(const std::string& path);
  void Link(const std::string& from, const std::string& to);
  void Rename(const std::string& from, const std::string& to);
  void MakeDirectory(const std::string& path);
  void RemoveDirectory(const std::string& path);
  void SyncDirectory(const std::string& path);

  // --- the volume ---
  void EmptyZones();  // moves all live data out of full zones
  void Unmount();     // closes nothing first
  // The same for a volume with several clients: each begins, one unmounts, each is told how it went.
  void BeginUnmount();
  void Unmounted(const Status& status);
  void Remounted(std::shared_ptr<Volume> volume);  // what it shows is compared, and becomes certain
  void AdoptFound();                               // what the volume shows becomes certain, whatever it is
  void DropHandles();
  SpaceReport Space() const { return volume_->Space(); }
  // Fails if the volume does not show what the model says.
  void Compare();

 private:
  struct Handle {
    std::unique_ptr<FileHandle> open;
    ModelFileRef file;
    std::string path;
  };

  // The same bytes in memory of which the dice say whether a device can take it as it is.
  ByteView Aligned(const std::string& bytes);
  void Finish(const Status& status, const std::string& what);
  Handle* Open(const std::string& handle);

  std::shared_ptr<Volume> volume_;
  Model model_;
  Random random_;
  AlignedBuffer memory_;
  std::map<std::string, Handle> handles_;
};

}  // namespace zenfs
