// Helpers for the tests of emulated files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "backends/emulator/emulated_file.h"
#include "base/crc32c.h"
#include "base/unique_fd.h"

namespace zenfs {

// Rewrites the header with a valid CRC.
inline void ChangeHeader(const std::string& path, auto change) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  std::string raw(kEmulatedHeaderBytes, '\0');
  ASSERT_EQ(::pread(fd.get(), raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
  EmulatedFileHeader header;
  std::memcpy(&header, raw.data(), sizeof header);
  change(header);
  header.crc = 0;
  std::memcpy(raw.data(), &header, sizeof header);
  header.crc = Crc32c(AsBytes(raw));
  std::memcpy(raw.data(), &header, sizeof header);
  ASSERT_TRUE(WriteAll(fd, 0, AsBytes(raw), path).ok());
}

}  // namespace zenfs
