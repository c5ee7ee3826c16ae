// Memory of zeros that takes no room until it is written to. Reading it takes none either.
#pragma once

#include <cstddef>
#include <memory>

namespace zenfs {

// Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte[]> MakeZeroPages(std::size_t bytes);

}  // namespace zenfs
