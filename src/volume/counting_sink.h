// The sink that plain files of a volume write to: counts bytes.
#pragma once

#include <atomic>
#include <memory>

#include "zone/extent_sink.h"

namespace zenfs {

// `inner` and `bytes` outlive the sink.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeCountingSink(ExtentSink& inner,
                                                           std::atomic<std::uint64_t>& bytes);

}  // namespace zenfs
