// For benchmarks that are programs of their own: a failed one has no result.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/status.h"

namespace zenfs {

// Ends the program with the error's text.
inline void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.error().ToString().c_str());
  std::exit(1);
}
template <typename T>
T Must(Result<T> result) {
  if (!result) Must(Status(Fail(result.error())));
  return std::move(*result);
}

}  // namespace zenfs
