// Converts exceptions to errors at the border to code that does not expect exceptions. Only std::bad_alloc and libraries
// throw.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/status.h"

namespace zenfs {

// Returns the Status or Result of `body`. Converts std::bad_alloc to kNoSpace and any other std::exception to kIo.
template <typename Body>
[[nodiscard]] auto Caught(Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return Fail(Code::kNoSpace, "out of memory");
  } catch (const std::exception& exception) {
    return Fail(Code::kIo, exception.what());
  }
}

}  // namespace zenfs
