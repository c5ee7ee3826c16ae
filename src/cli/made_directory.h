// A directory of the host that a verb needs: made if it is missing, and removed again if the verb fails.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

class MadeDirectory {
 public:
  // `path` may be relative to the working directory. Missing directories above it are made too. Errors:
  // kNotADirectory, and others of the host.
  [[nodiscard]] static Result<MadeDirectory> Ensure(const std::string& path);
  ~MadeDirectory();  // removes what Ensure made, unless Keep was called
  MadeDirectory(MadeDirectory&& other) noexcept = default;
  MadeDirectory& operator=(MadeDirectory&&) = delete;

  void Keep() { made_.clear(); }
  const std::string& path() const { return path_; }  // absolute, no '/' at its end, symbolic links resolved

 private:
  MadeDirectory() = default;

  std::string path_;
  std::vector<std::string> made_;  // outermost first
};

}  // namespace zenfs
