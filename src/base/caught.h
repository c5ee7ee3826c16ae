// Exceptions as errors, where code that throws meets code that does not expect it. Only std::bad_alloc and libraries throw.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/status.h"

namespace zenfs {

// Returns what `body` returns, a Status or Result, or an error for what it throws: kNoSpace if memory has run out.
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
