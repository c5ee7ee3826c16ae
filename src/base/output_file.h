// Files that ZenFS writes where its user says: images of zones, traces, counters, emulated devices.
//
// The directory may be one in which others can write. So a link of the name itself is not followed, and a pipe, socket or
// device is not opened, because that alone may have effects. In a directory that is sticky, or in which all users may write,
// a file that belongs to another user, or that has a second name, is refused. Links in the path of the directory are
// followed: the user chose it.
//
// Errors of all functions: kInvalidArgument for what is not a regular file; kPermission for another user's; those of the
// host, such as ENOSPC, EDQUOT and EFBIG. Each has the path, and nothing was changed.
//
// Threads: none.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/host_file.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// Opens what has the name now for reading and writing, if it may be replaced or written to. Invalid if the name is free. The
// caller looks at and changes this descriptor: the name may lead elsewhere by now.
[[nodiscard]] Result<UniqueFd> OpenExistingOutput(const std::string& path);

// Opens the file at `path` for reading and writing, or makes an empty one with mode 600. The caller checks that the content
// is its own kind before it changes anything.
enum class OutputUse { kAppend, kOverwrite };
[[nodiscard]] Result<UniqueFd> OpenOutput(const std::string& path, OutputUse use);

// A file that gets its name when it is complete: another process, and a crash, see the old file or all of the new one.
class NewOutput {
 public:
  // kNew: a file of that name is kExists, in Begin or in Publish.
  enum class Place { kNew, kReplace };

  // Makes an empty file beside `path`, with `mode` as the umask allows it.
  [[nodiscard]] static Result<NewOutput> Begin(const std::string& path, Place place, mode_t mode);
  ~NewOutput();  // without Publish: the file is removed
  NewOutput(NewOutput&& other) noexcept;
  NewOutput& operator=(NewOutput&&) = delete;

  const UniqueFd& fd() const { return fd_; }
  // Gives the file the mode of the file that it replaces and, where the host allows it, the owner. Does nothing if it
  // replaces none.
  [[nodiscard]] Status KeepModeAndOwner();
  [[nodiscard]] Status Append(ByteView bytes);
  // Makes the file durable and gives it its name. Call it once.
  [[nodiscard]] Status Publish();

 private:
  NewOutput() = default;

  std::string path_;
  Place place_ = Place::kNew;
  std::optional<HostStat> replaced_;
  UniqueFd directory_;
  std::string name_;
  std::string temporary_;  // empty: moved from, or published
  UniqueFd fd_;
};

}  // namespace zenfs
