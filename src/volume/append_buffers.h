// The append buffers in shared memory that this mount makes for itself (buffers/buffer_area.h), if it has any.
//
//   Make -> Name, which is committed -> in use -> Retire -> commit of "no place" -> Remove
//
// Ownership: shares the memory with the files that have a buffer.
// Threads: Make while nobody counts metrics; Name and Abandon during the mount; everything else from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buffers/buffer_area.h"
#include "metrics/metrics.h"
#include "volume/mount_options.h"

namespace zenfs {

class AppendBuffers {
 public:
  struct Request {
    std::string device_name;
    std::string identity;  // ZonedDevice::identity; empty: no buffers
    Uuid volume;
    std::uint64_t epoch = 0;  // of the mount that makes them
  };

  // Makes buffers as the options ask for them; none if the host has no room or no tmpfs for them, which adds a sentence to
  // `notices`. `metrics` count in their memory from then on, until the caller moves them home. Errors: those of BufferArea::Create if the user named the directory.
  [[nodiscard]] static Result<std::unique_ptr<AppendBuffers>> Make(const Request& request,
                                                                   const MountOptions& options,
                                                                   Metrics& metrics,
                                                                   std::vector<std::string>& notices);
  // No buffers: each flush is a write to the device.
  AppendBuffers() = default;
  AppendBuffers(const AppendBuffers&) = delete;
  AppendBuffers& operator=(const AppendBuffers&) = delete;

  // Null if there are none.
  const std::shared_ptr<BufferArea>& area() const { return area_; }
  // Of the file on the host; empty if there is none.
  std::string path() const { return area_ == nullptr ? "" : area_->path(); }
  // The directory of that file; empty if there is none.
  std::string directory() const;

  // Makes the metadata log name these buffers, where it names those at `named_place` now. Nothing if there is nothing to
  // change. From the call on, Abandon keeps the file.
  std::optional<Edit> Name(std::string_view named_place);
  // The bytes that an earlier opening of the file could not write are given up.
  void Forget(FileId id);
  // From now on each flush is a write to the device. True for the first caller, if there are buffers: it has to see to
  // their end.
  bool Retire() { return area_ != nullptr && area_->Retire(); }
  // OK if nothing is left in a buffer whose file is closed already. Errors: kIo.
  [[nodiscard]] Status CheckNothingGivenUp(const std::string& device_name) const;
  // Nothing that a mount needs is in them any more. Errors: those of SharedMemory::Unlink.
  [[nodiscard]] Status Remove();
  // The mount has failed: removes the file unless the metadata log may name it.
  void Abandon();

 private:
  std::shared_ptr<BufferArea> area_;
  bool may_be_named_ = false;
};

}  // namespace zenfs
