// The sink that plain files of a volume write to: counts bytes, and before it reports that there is no space
// has the log give back what it can.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "zone/extent_sink.h"

namespace zenfs {

// `inner`, `bytes` and what `free_space` uses outlive the sink.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeCountingSink(ExtentSink& inner,
                                                           std::atomic<std::uint64_t>& bytes,
                                                           std::function<void()> free_space);

}  // namespace zenfs
