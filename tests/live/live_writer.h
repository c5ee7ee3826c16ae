// A process that writes files, replaces, renames, truncates and deletes them as fast as it can, and the files'
// contents, which say of every byte where it belongs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace zenfs {

// Contents are records of this size: slot (from the name), generation (one for each file ever made), offset.
inline constexpr std::uint64_t kRecordBytes = 64;
[[nodiscard]] std::string LiveRecord(std::uint64_t slot, std::uint64_t generation, std::uint64_t offset);

// The slot and generation at the front of `record`; nothing if it is no record.
struct LiveTag {
  std::uint64_t slot = 0;
  std::uint64_t generation = 0;
};
[[nodiscard]] std::optional<LiveTag> ParseLiveTag(std::string_view record);

// The slot that a file's name tells: "7.sst", "7.log", "moved-7.sst". Nothing for other names.
[[nodiscard]] std::optional<std::uint64_t> SlotOfName(std::string_view name);

class LiveWriter {
 public:
  // Forks; the caller has no threads. The writer mounts the emulated device at `path`.
  LiveWriter(const std::string& path, std::uint64_t seed);
  ~LiveWriter();
  LiveWriter(const LiveWriter&) = delete;
  LiveWriter& operator=(const LiveWriter&) = delete;

  // Waits until the writer has mounted; false if it ended instead.
  [[nodiscard]] bool WaitUntilMounted();
  // Asks it to unmount and end; true if it did so without an error.
  [[nodiscard]] bool Stop();
  void Kill();

 private:
  pid_t child_ = -1;
  UniqueFd told_;  // the writer says that it has mounted
  UniqueFd stop_;  // closed: the writer ends
};

}  // namespace zenfs
