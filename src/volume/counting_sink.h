// A sink that forwards to another one and counts the bytes. Plain files write to it.
#pragma once

#include <atomic>
#include <memory>

#include "zone/extent_sink.h"

namespace zenfs {

// `inner` and `bytes` outlive the sink.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeCountingSink(ExtentSink& inner,
                                                           std::atomic<std::uint64_t>& bytes);

}  // namespace zenfs
