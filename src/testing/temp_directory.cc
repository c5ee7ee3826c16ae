#include "testing/temp_directory.h"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace zenfs {

TempDirectory::TempDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "zenfs-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace zenfs
