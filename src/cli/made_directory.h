// A directory of the host that a verb needs. Creates it if it is missing, and removes it again if
// the verb fails.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

class MadeDirectory {
 public:
  // `path` may be relative to the working directory. Also creates missing parents. Follows no symbolic link, and refuses
  // directories of other users on the way. Errors: those of HostDirectory::OpenTrusted.
  [[nodiscard]] static Result<MadeDirectory> Ensure(const std::string& path);
  ~MadeDirectory();  // removes the directories that Ensure created, unless Keep was called
  MadeDirectory(MadeDirectory&& other) noexcept = default;
  MadeDirectory& operator=(MadeDirectory&&) = delete;

  void Keep() { made_.clear(); }
  // Absolute, without a trailing '/'. No part of it is a symbolic link.
  const std::string& path() const { return path_; }

 private:
  MadeDirectory() = default;

  std::string path_;
  std::vector<std::string> made_;  // outermost first
};

}  // namespace zenfs
