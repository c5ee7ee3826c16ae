// The way of data through the block device's node: O_DIRECT reads and writes.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/host/data_path.h"

namespace zenfs {

// `fd` must stay open. `longest`: bytes that the kernel does not split.
[[nodiscard]] std::unique_ptr<DataPath> PathOfNode(int fd, std::uint64_t longest);

}  // namespace zenfs
