// What a writer that died had flushed to shared memory and not to the device, told by one who only looks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/uuid.h"
#include "model/state.h"

namespace zenfs {

// One sentence for a person; empty when nothing waits, or nothing is known of it: while the writer lives, and where its
// shared memory is not to be seen. `size_of`: bytes that the device has of a file; nothing for one that is gone.
[[nodiscard]] std::string DescribeWaitingBytes(
    const State& state, const Uuid& volume, const std::string& identity,
    const std::function<std::optional<std::uint64_t>(FileId)>& size_of);

}  // namespace zenfs
