// The context that the parts of a scrub share.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "format/superblock.h"
#include "volume/scrub.h"

namespace zenfs {

struct ScrubContext {
  ZonedDevice& device;
  const Superblock& superblock;
  // Called after each read with its bytes, for the progress.
  const std::function<void(std::uint64_t bytes)>& advance;
  ScrubReport& out;

  void Add(Severity severity, std::string text, ZoneId zone, std::uint64_t at) {
    out.findings.Add({.severity = severity,
                      .text = std::move(text),
                      .zone = zone,
                      .offset = device.geometry().ZoneStart(zone) + at});
  }
};

}  // namespace zenfs
