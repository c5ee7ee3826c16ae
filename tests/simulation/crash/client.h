// Makes calls for files and names to a mounted volume, one after the other, and keeps the model up to date.
//
// Threads: none; one client per thread, all on one volume.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "volume_client.h"

namespace zenfs {

class Client final : public VolumeClient {
 public:
  // `root` as for VolumeClient.
  Client(std::shared_ptr<Volume> volume, std::uint64_t seed, const std::string& root = "")
      : VolumeClient(std::move(volume), seed, root) {}

  // --- files; `handle` is a name for an open handle, chosen by the caller ---
  void Create(const std::string& handle, const std::string& path);
  void Reopen(const std::string& handle, const std::string& path);
  void Append(const std::string& handle, std::size_t count);
  // Puts a run of 64 to 160 KiB of zeros into one in 16 appends, until there are so many.
  void WriteZeros(int runs) { runs_of_zeros_ = runs; }
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

  // For a client that goes on when the volume is full (GoesOnWhenFull): deletes the file of the handle if the last call found
  // no space. Returns true if it did. Deletions must always find space.
  bool GaveUp(const std::string& handle, const std::string& path);
  // Writes, syncs and closes a file that was just created. Returns false if it gave up.
  bool FillFile(const std::string& handle, const std::string& path, std::size_t count);
  void UnlinkWithoutSpace(const std::string& path);

  // --- names ---
  void Unlink(const std::string& path);
  void Link(const std::string& from, const std::string& to);
  void Rename(const std::string& from, const std::string& to);
  void MakeDirectory(const std::string& path);
  void RemoveDirectory(const std::string& path);
  void SyncDirectory(const std::string& path);

 private:
  // The same bytes in memory that is, at random, suitably aligned for direct I/O or not.
  ByteView Aligned(const std::string& bytes);
  Handle* Open(const std::string& handle);

  AlignedBuffer memory_;
  int runs_of_zeros_ = 0;  // that are still to be written
};

}  // namespace zenfs
