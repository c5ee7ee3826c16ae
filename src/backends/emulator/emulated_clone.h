// A copy of an emulated device's file, made under a temporary name and put in its place when it is complete.
//
// While a clone is being made the original may be read, but not written: it is locked against writers. A clone
// that is given up is removed; one whose process is killed leaves a file named like the target with six more
// characters, which nobody opens.
//
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/emulator/emulated_file.h"

namespace zenfs {

class EmulatedClone {
 public:
  using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

  // Locks `from` and copies it: shares its blocks where the host's file system can, else copies what is not a
  // hole. The copy is another device, with a UUID of its own in the file's header. With `overwrite` it may
  // take the place of an emulated device that nobody has open, or of an empty file; never of anything else. `mode`: the
  // permissions of the copy, whatever the umask; it holds all that the original does.
  // Errors: those of opening `from`; kBusy when a writer has `from` open, or somebody `to` (the text names the
  // holder); kExists; kInvalidArgument when both are one file, or `to` is something else; kNoSpace, found
  // before anything is copied where that is possible; and others of the host.
  [[nodiscard]] static Result<std::unique_ptr<EmulatedClone>> Begin(const std::string& from,
                                                                    const std::string& to, bool overwrite,
                                                                    const Progress& progress = {},
                                                                    mode_t mode = kEmulatedFileMode);
  ~EmulatedClone();  // without Finish: the copy is removed
  EmulatedClone(const EmulatedClone&) = delete;
  EmulatedClone& operator=(const EmulatedClone&) = delete;

  // The bytes at the start of a zone of the copy, and their replacement: an emulated device itself can't be
  // written there again. `bytes` must not reach beyond the zone.
  [[nodiscard]] Status ReadStart(ZoneId zone, ByteSpan bytes) const;
  [[nodiscard]] Status ReplaceStart(ZoneId zone, ByteView bytes);

  // Makes the copy durable and gives it its name. Once.
  [[nodiscard]] Status Finish();

  // What the copy takes of the original that was not a hole; 0 when the blocks are shared.
  std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  EmulatedClone(OpenedEmulatedFile from, std::string to, UniqueFd replaced);

  Status MakeTemporary(mode_t mode);
  Status CheckSpace(std::uint64_t needed) const;
  Status CopyData(const Progress& progress);
  Status CopyRange(std::uint64_t start, std::uint64_t end, const Progress& progress);
  std::uint64_t StartOf(ZoneId zone) const {
    return from_.layout.data_offset + zone.value * from_.info.geometry.zone_size;
  }

  const OpenedEmulatedFile from_;
  const std::string to_;
  const UniqueFd replaced_;  // what the copy will take the place of, locked; not valid when there is nothing
  std::string temporary_;    // empty: not made yet, or it has its name
  UniqueFd fd_;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace zenfs
