// Makes calls to a mounted volume, one after the other, and keeps the model up to date.
//
// Threads: none; one client per thread, all on one volume.
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
  // `root`: the directory that only this client uses, "" for the whole volume. It exists and is
  // empty.
  Client(std::shared_ptr<Volume> volume, std::uint64_t seed, const std::string& root = "");

  const Model& model() const { return model_; }
  Random& random() { return random_; }
  // From now on, random choices follow from `seed` alone.
  void Reseed(std::uint64_t seed) { random_ = Random(seed); }
  // Bytes that identify their origin.
  std::string Bytes(std::size_t count);

  // --- files; `handle` is a name for an open handle, chosen by the caller ---
  void Create(const std::string& handle, const std::string& path);
  void Reopen(const std::string& handle, const std::string& path);
  void Append(const std::string& handle, std::size_t count);
  // Rewrites from the last block boundary on, then appends, as a direct writer does.
  void RewriteTail(const std::string& handle, std::size_t count);
  void Truncate(const std::string& handle, std::size_t size);
  void Flush(const std::string& handle);
  void Sync(const std::string& handle);
  // A Sync that must fail because of the device. The file stays usable.
  void SyncInVain(const std::string& handle);
  void Close(const std::string& handle);
  // Reads two ranges of a file through a new handle. Fails if they differ from the model.
  void Read(const std::string& path);
  bool IsOpen(const std::string& handle) const { return handles_.contains(handle); }
  const std::string& PathOf(const std::string& handle) const { return handles_.at(handle).path; }
  std::size_t SizeOf(const std::string& handle) const { return handles_.at(handle).file->live.size(); }
  // Append and Sync, `records` times.
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
  void Unmount();     // without closing handles
  // For a volume with several clients: each begins, one unmounts, each gets the result.
  void BeginUnmount();
  void Unmounted(const Status& status);
  void Remounted(std::shared_ptr<Volume> volume);  // compares the contents, which then count as certain
  void AdoptFound();                               // accepts the contents of the volume as certain
  void DropHandles();
  SpaceReport Space() const { return volume_->Space(); }
  // Fails if the volume's contents differ from the model.
  void Compare();

 private:
  struct Handle {
    std::unique_ptr<FileHandle> open;
    ModelFileRef file;
    std::string path;
  };

  // The same bytes in memory that is, at random, suitably aligned for direct I/O or not.
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
