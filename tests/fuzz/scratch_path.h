// A path on a tmpfs for the one file or directory that inputs of a target need.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/shared_memory.h"

namespace zenfs {

// The path belongs to this process; the destructor removes what is there.
class ScratchPath {
 public:
  ScratchPath() : path_(fmt::format("{}/{}{}", DefaultSharedMemoryDirectory(), kPrefix, ::getpid())) {
    RemoveThoseOfTheDead();
  }
  ScratchPath(const ScratchPath&) = delete;
  ScratchPath& operator=(const ScratchPath&) = delete;
  ~ScratchPath() { Remove(path_); }

  const std::string& path() const { return path_; }

 private:
  static constexpr std::string_view kPrefix = "fuzz-zenfs-";

  static void Remove(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  // A target that ends with a finding runs no destructors.
  static void RemoveThoseOfTheDead() {
    for (const std::string& path : ListSharedMemory(DefaultSharedMemoryDirectory(), kPrefix)) {
      const std::string process = path.substr(path.rfind('-') + 1);
      if (::access(("/proc/" + process).c_str(), F_OK) != 0) Remove(path);
    }
  }

  const std::string path_;
};

}  // namespace zenfs
