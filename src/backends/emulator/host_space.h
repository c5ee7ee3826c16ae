// Space on the host for an emulated device's file.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "backends/emulator/emulated_file.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// kNoSpace if the host's file system that holds the open file has less than `needed` free bytes. `what` needs them.
[[nodiscard]] Status CheckHostSpace(const UniqueFd& fd, std::uint64_t needed, const std::string& what,
                                    const std::string& path);

// Writes zeros to all blocks of the device, so that the host never has to allocate space for them. Errors: as
// CheckHostSpace, kShutdown if stopped, and those of the host.
[[nodiscard]] Status ReserveHostSpace(const UniqueFd& fd, const EmulatorGeometry& geometry,
                                      const EmulatedLayout& layout, const std::string& path,
                                      const EmulatedFileOptions& options);

}  // namespace zenfs
