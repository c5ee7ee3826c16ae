// The append buffers of this mount in shared memory (buffers/buffer_area.h), if it has any.
//
//   Make -> Name, which is committed -> in use -> Retire -> commit of "no place" -> Remove
//
// Ownership: shares the memory with the files that have a buffer.
// Threads: Make before any thread counts metrics; Name and Abandon on the mounting thread; all others from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buffers/buffer_area.h"
#include "metrics/metrics.h"
#include "open/mount_options.h"
#include "zone/zone_manager.h"

namespace zenfs {

class AppendBuffers final : public ZoneReaders {
 public:
  struct Shape {
    std::uint32_t slots = 0;
    std::uint64_t buffer_bytes = 0;  // of each
  };
  struct Request {
    std::string device_name;
    std::string identity;  // ZonedDevice::identity; empty: no buffers
    Uuid volume;
    std::uint64_t epoch = 0;              // of this mount
    std::uint64_t buffer_bytes = 0;       // of each buffer
    std::uint32_t zones = 0;              // of the device
    Shape least{};                        // room for the bytes of a dead mount
    std::optional<std::uint32_t> user{};  // who gets the file if root mounts and leaves bytes in it
  };

  // Makes the buffers that the options ask for. If the host has no tmpfs or no room on it, makes none and adds a notice.
  // `metrics` counts in the shared memory until the caller moves it home. Errors: those of BufferArea::Create if the user
  // named the directory.
  [[nodiscard]] static Result<std::unique_ptr<AppendBuffers>> Make(const Request& request,
                                                                   const MountOptions& options,
                                                                   Metrics& metrics,
                                                                   std::vector<std::string>& notices);
  // No buffers: each flush is a write to the device.
  AppendBuffers() = default;
  explicit AppendBuffers(const Request& request) : buffer_bytes_(request.buffer_bytes), user_(request.user) {}
  AppendBuffers(const AppendBuffers&) = delete;
  AppendBuffers& operator=(const AppendBuffers&) = delete;

  // Null if there are none.
  const std::shared_ptr<BufferArea>& area() const { return area_; }
  // The size of a buffer in private memory, for a file that gets none of these.
  std::uint64_t buffer_bytes() const { return buffer_bytes_; }
  // The file on the host; empty if there is none.
  std::string path() const { return area_ == nullptr ? "" : area_->path(); }
  // The directory of that file; empty if there is none.
  std::string directory() const;

  // --- ZoneReaders ---
  bool IsRead(ZoneId zone) const override { return area_ != nullptr && area_->IsRead(zone); }
  void NoteReset(ZoneId zone) override {
    if (area_ != nullptr) area_->NoteReset(zone);
  }

  // The edit that makes the metadata log name these buffers instead of those at `named_place`; nothing if both are none.
  // From this call on, Abandon keeps the file.
  std::optional<Edit> Name(std::string_view named_place);
  // Discards flushed bytes of earlier openings of the file: from now on its committed state counts.
  void Forget(FileId id);
  // From now on each flush is a write to the device. True for the first caller if there are buffers: that caller must
  // write them back and remove them.
  bool Retire() { return area_ != nullptr && area_->Retire(); }
  // Errors: kNoSpace if a buffer of a closed file still holds bytes; the next mount finds them.
  [[nodiscard]] Status CheckNothingGivenUp(const std::string& device_name) const;
  // Call this once no mount needs the contents. Errors: those of SharedMemory::Unlink.
  [[nodiscard]] Status Remove();
  // Call this at the end of the mount, once nobody uses the buffers or the metrics in the file. If the file still has bytes,
  // the next mount can take them over.
  void HandOver();
  // Call this if the mount fails. Removes the file unless the metadata log may name it.
  void Abandon();

 private:
  const std::uint64_t buffer_bytes_ = 0;
  const std::optional<std::uint32_t> user_;
  std::shared_ptr<BufferArea> area_;
  bool may_be_named_ = false;
};

}  // namespace zenfs
