// A copy of an emulated device's file. It is made under a temporary name and renamed when it is
// complete.
//
// During the copy the original can be read, but not written: it is locked against writers. A clone
// that is abandoned is removed. If its process is killed, a file remains whose name is that of the
// target and eight more characters; nobody opens it.
//
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/emulator/emulated_file.h"
#include "base/output_file.h"

namespace zenfs {

class EmulatedClone {
 public:
  using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

  // Locks `from` and copies it: shares its blocks if the host's file system can, otherwise copies
  // everything except holes; without the recorded times if others may change `from` (EmulatedFileInfo::timing decides how long who
  // opens it waits). The copy is another device, with its own UUID in the header of the
  // file. With `overwrite` it may replace an emulated device that nobody has open, or an empty
  // file, and nothing else. `mode`: the permissions of the copy, whatever the umask; it holds all
  // data of the original. Errors: those of opening `from`; kBusy if a writer has `from` open, or
  // anybody has `to` open (the text names the holder); kExists; kInvalidArgument if both are the
  // same file, or `to` is something else; kNoSpace, found before the copy starts if possible; other
  // errors of the host.
  [[nodiscard]] static Result<std::unique_ptr<EmulatedClone>> Begin(const std::string& from,
                                                                    const std::string& to, bool overwrite,
                                                                    const Progress& progress = {},
                                                                    mode_t mode = kEmulatedFileMode);
  EmulatedClone(const EmulatedClone&) = delete;
  EmulatedClone& operator=(const EmulatedClone&) = delete;

  // Reads and replaces the bytes at the start of a zone of the copy. An emulated device cannot
  // rewrite them. `bytes` must not extend beyond the zone.
  [[nodiscard]] Status ReadStart(ZoneId zone, ByteSpan bytes) const;
  [[nodiscard]] Status ReplaceStart(ZoneId zone, ByteView bytes);

  // Makes the copy durable and gives it its name. Call it once. Without it the destructor removes the copy.
  [[nodiscard]] Status Finish() { return file_.Publish(); }

  // The times that the copy does not have; kNone if it has all.
  Timing dropped_timing() const { return dropped_timing_; }
  // Bytes copied, without holes; 0 if the blocks are shared.
  std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  EmulatedClone(OpenedEmulatedFile from, std::string to, UniqueFd replaced, NewOutput file);

  const UniqueFd& fd() const { return file_.fd(); }
  Status MakeHeader();
  Status CopyData(const Progress& progress);
  Status CopyRange(std::uint64_t start, std::uint64_t end, const Progress& progress);
  std::uint64_t StartOf(ZoneId zone) const {
    return from_.layout.data_offset + zone.value * from_.info.geometry.zone_size;
  }

  const OpenedEmulatedFile from_;
  const std::string to_;
  const UniqueFd replaced_;  // the file that the copy replaces, locked; invalid if there is none
  NewOutput file_;
  std::uint64_t copied_bytes_ = 0;
  Timing dropped_timing_ = Timing::kNone;
};

}  // namespace zenfs
